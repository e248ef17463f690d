"""Writes this version's files, with which every later version must continue.

  python -m tools.golden

Run it in the checkout of a release; it writes tests/golden/version_X_Y.tar.xz (of
`albert_tf.__version__`): data, a pretraining run after two steps, a fine-tuning run
that was stopped after two of its four steps, a model of questions, an export, and the
outcome of each. tests/test_earlier_versions.py continues, loads and asks all of it.
"""

import contextlib
import dataclasses
import json
import os
import pathlib
import random
import shutil
import tarfile
import tempfile
from unittest import mock

import numpy as np

import albert_tf
from albert_tf.cli import command_line
from albert_tf.cli.commands import main

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden"
DATA = (
    "--input_file=corpus.txt --output_file=data/train.tfrecord --vocab_file=vocab.txt "
    "--max_seq_length=24 --max_predictions_per_seq=4 --dupe_factor=1 --workers=1"
)
PRETRAINING = (
    "--input_file=data/train.tfrecord --vocab_file=vocab.txt "
    "--albert_config_file=config.json --max_seq_length=24 --max_predictions_per_seq=4 "
    "--train_batch_size=4 --learning_rate=0.01 --lr_schedule=constant "
    "--num_warmup_steps=0 --save_checkpoints_steps=2 --iterations_per_loop=1 "
    "--use_xla=false --output_dir=pretrained"
)
FINE_TUNING = (
    "--task_name=custom --data_dir=tables --init_checkpoint=pretrained "
    "--output_dir=tuned --max_seq_length=16 --train_batch_size=8 --learning_rate=0.01 "
    "--train_step=4 --save_checkpoints_steps=2 --iterations_per_loop=1 --do_train"
)
QUESTIONS = (
    "--train_file=squad.json --predict_file=squad.json --init_checkpoint=pretrained "
    "--output_dir=questions --max_seq_length=16 --doc_stride=3 --max_query_length=5 "
    "--train_batch_size=8 --learning_rate=0.01 --train_step=8 --do_train"
)
EXPORT = "--model_dir=tuned/model --export_dir=exported"
TEXTS = ["the good film", "a bad plot was not very good", ""]
CONTEXTS = ["the film was good and the plot was bad", "a dog runs", ""]
LAST_STEP = 4
"""Last step of the stored runs when they go on."""

_PIECES = (
    *("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "a", "film", "plot", "was"),
    *("is", "and", "very", "not", "it", "good", "bad", "he", "she", "dog", "cat"),
    *("runs", "sits"),
)
_WORDS = _PIECES[5:]
_NUMBERS = 8  # that are kept of each variable


def run(command, flags):
    """Runs a command of albert-tf; `flags` are separated by spaces."""
    main(["albert-tf", command, *flags.split()])


def numbers(checkpoint):
    """Returns a checkpoint's first numbers of each variable, `{name: float array}`."""
    # Imported here and below, so that --help does not wait for TensorFlow.
    import tensorflow as tf

    reader = tf.train.load_checkpoint(checkpoint)
    types = reader.get_variable_to_dtype_map()
    names = [name for name, dtype in types.items() if dtype == tf.float32]
    return {name: reader.get_tensor(name).ravel()[:_NUMBERS] for name in names}


def answers(model_dir, export_dir):
    """Returns the answers of a model directory, built, and of an export, by name."""
    from albert_tf.serving.predictor import Predictor

    served = {
        "questions": Predictor(model_dir).arrays(TEXTS, CONTEXTS),
        "exported": Predictor(export_dir).arrays(TEXTS),
    }
    return {
        f"{name}.{key}": values.astype(str) if values.dtype == object else values
        for name, outputs in served.items()
        for key, values in outputs.items()
    }


@dataclasses.dataclass(frozen=True)
class GoldenOptions:
    """The flags of `python -m tools.golden`: none."""


def golden(options):
    """Writes the archive of this version."""
    major, minor, *_ = albert_tf.__version__.split(".")
    name = f"version_{major}_{minor}"
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place, name)
        folder.mkdir()
        os.chdir(folder)
        _make()
        with tarfile.open(GOLDEN / f"{name}.tar.xz", "w:xz") as archive:
            archive.add(folder, name, filter=_without_pictures)


def _without_pictures(member):
    """Leaves out files that are large or machine-specific, and never read again."""
    name = pathlib.Path(member.name).name
    if name.endswith(".png") or name.startswith("events.out."):
        return None
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def _make():
    _write_inputs()
    run("data", DATA)
    run("pretrain", f"{PRETRAINING} --num_train_steps={LAST_STEP // 2}")
    with _kept_at(LAST_STEP // 2, "tuned"):
        run("classify", FINE_TUNING)
    run("squad", QUESTIONS)
    for name in ("checkpoints", "cache"):
        shutil.rmtree(pathlib.Path("questions", name), ignore_errors=True)
    shutil.copytree("pretrained", "kept")
    run("pretrain", f"{PRETRAINING} --num_train_steps={LAST_STEP}")
    arrays = {
        f"{run}:{name}": array
        for run in ("pretrained", "tuned")
        for name, array in numbers(f"{run}/checkpoints/training-{LAST_STEP}").items()
    }
    np.savez_compressed("expected.npz", **arrays)
    for run_name, kept in (("pretrained", "kept"), ("tuned", "tuned_kept")):
        shutil.rmtree(run_name)
        os.rename(kept, run_name)
    run("export", EXPORT)
    found = answers("questions/model", "exported")
    lists = {name: values.tolist() for name, values in found.items()}
    pathlib.Path("answers.json").write_text(json.dumps(lists, indent=1))


@contextlib.contextmanager
def _kept_at(step, output_dir):
    """Keeps a copy of a run's folder as it is right after it has saved a step."""
    from albert_tf.engine.checkpointing import Checkpointing

    save = Checkpointing.save

    def save_and_keep(self, at):
        save(self, at)
        if at == step:
            shutil.copytree(output_dir, f"{output_dir}_kept")

    with mock.patch.object(Checkpointing, "save", save_and_keep):
        yield


def _write_inputs():
    chance = random.Random(7)
    pathlib.Path("vocab.txt").write_text("\n".join(_PIECES) + "\n")
    config = {
        "vocab_size": len(_PIECES),
        "embedding_size": 4,
        "hidden_size": 8,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 12,
        "max_position_embeddings": 32,
        "hidden_dropout_prob": 0.1,
        "attention_probs_dropout_prob": 0.1,
        "initializer_range": 0.2,
    }
    pathlib.Path("config.json").write_text(json.dumps(config))
    lines = [
        " ".join(chance.choices(_WORDS, k=6)) if number % 5 else ""
        for number in range(60)
    ]
    pathlib.Path("corpus.txt").write_text("\n".join(lines))
    pathlib.Path("tables").mkdir()
    for name in ("train", "dev"):
        rows = [chance.choices(_WORDS, k=5) + [chance.choice(["good", "bad"])] * 2]
        rows += [[*chance.choices(_WORDS, k=5), label] for label in ["good", "bad"] * 8]
        table = "".join(f"{row[-1]}\t{' '.join(row)}\n" for row in rows)
        pathlib.Path("tables", f"{name}.tsv").write_text(f"label\tsentence\n{table}")
    pathlib.Path("squad.json").write_text(json.dumps(_squad(chance)))


def _squad(chance):
    paragraphs = []
    for number in range(8):
        words = chance.sample(_WORDS, 8)
        context, answer = " ".join(words), words[3]
        answers = [{"text": answer, "answer_start": context.index(f" {answer} ") + 1}]
        asked = {"question": f"is it {words[2]}", "answers": answers}
        none = {"question": "is it she", "answers": [], "is_impossible": True}
        qas = [{"id": f"{number}", **asked}, {"id": f"{number}-none", **none}]
        paragraphs.append({"context": context, "qas": qas})
    return {"version": "v2.0", "data": [{"title": "t", "paragraphs": paragraphs}]}


if __name__ == "__main__":
    command_line.run(GoldenOptions, golden)
