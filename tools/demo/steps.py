"""The commands of `make demo`, in order."""

import json

from albert_tf.errors import UserError

TEXTS = (
    "Returns the eigenvalues of a symmetric matrix.",
    "Fits the classifier to the training samples X with the target labels y.",
    "Yields the names of all tests that the collector has found.",
)
"""Raw strings for the served model; written for the demo, found in no docstring."""

_MODULES = {
    "sample_corpus": "tools.demo.corpus",
    "train_tokenizer": "data_pipeline.train_tokenizer",
    "create_pretraining_data": "data_pipeline.create_pretraining_data",
}


def demo_steps(output_dir, recipe):
    """Returns `(name, command)` pairs; a command is the words behind `python`.

    Args:
        output_dir: `pathlib.Path` of the folder for everything that is made.
        recipe: path of the JSON file with the flags of the longer commands.

    Raises:
        UserError: the recipe cannot be read or lacks a step.
    """
    try:
        with open(recipe, encoding="utf-8") as file:
            flags = json.load(file)
        return _steps(output_dir, flags)
    except (OSError, ValueError) as error:
        raise UserError(f"The recipe {recipe} cannot be read: {error}.") from error
    except KeyError as error:
        raise UserError(f"The recipe {recipe} lacks the step {error}.") from error


def _steps(output_dir, recipe):
    return [
        *_data_steps(output_dir, recipe),
        *_training_steps(output_dir, recipe),
        *_serving_steps(output_dir),
    ]


def _vocabulary(output_dir):
    return output_dir / "vocab" / "docstrings.model"


def _data_steps(output_dir, recipe):
    corpus = output_dir / "text" / "corpus.txt"
    flags = {
        "sample_corpus": {"output_dir": corpus.parent},
        "train_tokenizer": {
            "input_file": corpus,
            "output_prefix": _vocabulary(output_dir).with_suffix(""),
        },
        "create_pretraining_data": {
            "input_file": corpus,
            "output_file": output_dir / "data" / "train.tfrecord",
            "spm_model_file": _vocabulary(output_dir),
        },
    }
    return [
        (name, ["-m", _MODULES[name], *_flags(**paths, **recipe[name])])
        for name, paths in flags.items()
    ]


def _training_steps(output_dir, recipe):
    pretrain = _flags(
        input_file=output_dir / "data" / "train*.tfrecord",
        eval_file=output_dir / "data" / "held_out" / "*.tfrecord",
        output_dir=output_dir / "pretrained",
        spm_model_file=_vocabulary(output_dir),
        do_eval=True,
        **recipe["pretrain"],
    )
    classify = _flags(
        task_name="custom",
        data_dir=output_dir / "text",
        do_train=True,
        do_eval=True,
        **recipe["fine_tune"],
    )
    pretrained = _flags(
        output_dir=output_dir / "classifier",
        init_checkpoint=output_dir / "pretrained",
    )
    scratch = _flags(
        output_dir=output_dir / "scratch",
        from_scratch=True,
        albert_config_file=recipe["pretrain"]["albert_config_file"],
        spm_model_file=_vocabulary(output_dir),
    )
    return [
        ("pretrain", ["run_pretraining.py", *pretrain]),
        ("fine_tune", ["run_classifier.py", *pretrained, *classify]),
        ("from_scratch", ["run_classifier.py", *scratch, *classify]),
    ]


def _serving_steps(output_dir):
    export = _flags(
        model_dir=output_dir / "classifier" / "model",
        export_dir=output_dir / "served",
    )
    served = str(output_dir / "served")
    return [
        ("export", ["-m", "albert_tf", "export", *export]),
        ("predict", ["tools/predict_strings.py", served, *TEXTS]),
    ]


def _flags(**values):
    return [f"--{name}={value}" for name, value in values.items()]
