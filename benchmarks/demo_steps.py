"""The commands of `make demo`, in order."""

import json

from albert_tf.errors import UserError

TEXTS = (
    "Returns the eigenvalues of a symmetric matrix.",
    "Fits the classifier to the training samples X with the target labels y.",
    "Yields the names of all tests that the collector has found.",
)
"""Raw strings for the served model; written for the demo, found in no docstring."""


def steps(output_dir, recipe):
    """Returns `(name, command)` pairs; a command is what follows `python`.

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
    text, data = output_dir / "text", output_dir / "data"
    vocabulary = {"spm_model_file": output_dir / "vocab" / "docstrings.model"}
    pretrained = output_dir / "pretrained"
    classify = {
        "task_name": "custom",
        "data_dir": text,
        "do_train": True,
        "do_eval": True,
        **recipe["fine_tune"],
    }
    scratch = {
        "from_scratch": True,
        "albert_config_file": recipe["pretrain"]["albert_config_file"],
        **vocabulary,
    }
    return [
        (
            "sample_corpus",
            _module("data_pipeline.sample_corpus", recipe, output_dir=text),
        ),
        (
            "train_tokenizer",
            _module(
                "data_pipeline.train_tokenizer",
                recipe,
                input_file=text / "corpus.txt",
                output_prefix=vocabulary["spm_model_file"].with_suffix(""),
            ),
        ),
        (
            "create_pretraining_data",
            _module(
                "data_pipeline.create_pretraining_data",
                recipe,
                input_file=text / "corpus.txt",
                output_file=data / "train.tfrecord",
                **vocabulary,
            ),
        ),
        (
            "pretrain",
            [
                "run_pretraining.py",
                *_flags(
                    input_file=data / "train*.tfrecord",
                    eval_file=data / "held_out" / "*.tfrecord",
                    output_dir=pretrained,
                    do_eval=True,
                    **vocabulary,
                    **recipe["pretrain"],
                ),
            ],
        ),
        (
            "fine_tune",
            [
                "run_classifier.py",
                *_flags(
                    output_dir=output_dir / "classifier",
                    init_checkpoint=pretrained,
                    **classify,
                ),
            ],
        ),
        (
            "from_scratch",
            [
                "run_classifier.py",
                *_flags(output_dir=output_dir / "scratch", **scratch, **classify),
            ],
        ),
        (
            "export",
            [
                "-m",
                "albert_tf.serving.export",
                *_flags(
                    model_dir=output_dir / "classifier" / "model",
                    export_dir=output_dir / "served",
                ),
            ],
        ),
        (
            "predict",
            ["benchmarks/predict_strings.py", str(output_dir / "served"), *TEXTS],
        ),
    ]


def _module(name, recipe, **flags):
    flags |= recipe[name.removeprefix("data_pipeline.")]
    return ["-m", name, *_flags(**flags)]


def _flags(**values):
    return [f"--{name}={value}" for name, value in values.items()]
