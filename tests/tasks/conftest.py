"""A complete tiny fine-tuning task, run by flags."""

import json
import random
import shutil

import h5py
import pytest

from albert_tf.cli.command_line import parse
from albert_tf.io.whole_folder import ChecksummedFolder
from albert_tf.tasks import training
from albert_tf.tasks.classification.flags import ClassifierOptions
from albert_tf.tasks.commands.run import run_repeatedly

_OTHER_WORDS = ["the", "a", "film", "plot", "was", "is", "and", "very", "not", "it"]
_PIECES = ["good", "bad", *_OTHER_WORDS]
FINISHED = {"do_train": True, "train_step": 4, "save_checkpoints_steps": 2}
"""The flags of the run that `finished` copies."""


@pytest.fixture
def flags(command_line, tmp_path):
    """Runs the command with flags; the defaults are a complete tiny task."""

    def run(**changes):
        argv = ["run_classifier.py", *command_line(**changes)]
        run_repeatedly(parse(ClassifierOptions, argv))
        return tmp_path / "out"

    return run


class Built(Exception):
    """Holds the parts of a `Trainer`; nothing is trained."""


@pytest.fixture
def built(flags, monkeypatch):
    """Makes the model, the optimizer, the options and the width of the batches."""

    def stop(trainer, stages, *arguments):
        raise Built(trainer, stages[0].dataset)

    monkeypatch.setattr(training.Trainer, "train", stop)

    def build(**changes):
        with pytest.raises(Built) as found:
            flags(do_train=True, **changes)
        trainer, dataset = found.value.args
        width = dataset.element_spec["input_ids"].shape[1]
        return trainer.model, trainer.optimizer, trainer.options, width

    return build


@pytest.fixture(scope="session")
def tiny_model_in(vocabulary, tiny_config):
    """Makes the flags of a tiny model, trained from scratch, whose files lie there."""

    def make(folder, pieces, **changes):
        vocab, config = folder / "vocab.txt", folder / "tiny.json"
        vocab.write_text(vocabulary(pieces), "utf-8")
        sizes = {
            "embedding_size": 8,
            "hidden_size": 16,
            "num_hidden_layers": 1,
            "num_attention_heads": 2,
            "intermediate_size": 32,
            "max_position_embeddings": 32,
            "initializer_range": 0.1,
        }
        values = {"vocab_size": 5 + len(pieces), **sizes, **changes}
        tiny_config(**values).to_json_file(config)
        return {
            "output_dir": folder / "out",
            "from_scratch": True,
            "albert_config_file": config,
            "vocab_file": vocab,
            "use_xla": False,
        }

    return make


@pytest.fixture
def tiny_model(tmp_path, tiny_model_in):
    """Makes the flags of a tiny model that is trained from scratch."""
    return lambda pieces, **changes: tiny_model_in(tmp_path, pieces, **changes)


@pytest.fixture
def continues_exactly():
    """Trains to step 4, undoes the last two, and trains again: nothing may differ."""

    def check(flags, **changes):
        changes |= {"do_train": True, "save_checkpoints_steps": 2}
        out = flags(**changes)
        history = json.loads((out / "history.json").read_text())
        weights = _stored_arrays(out)
        assert [entry["step"] for entry in history] == [2, 4]
        for path in (out / "checkpoints").glob("training-4.*"):
            path.unlink()
        state = out / "checkpoints" / "checkpoint"
        state.write_text(state.read_text().replace("training-4", "training-2"))
        with ChecksummedFolder(out) as folder:
            folder.write_json("history.json", history[:1])
        flags(**changes)
        again = json.loads((out / "history.json").read_text())
        for entry in (*history, *again):
            del entry["train_seconds"]
        assert again == history
        assert _stored_arrays(out) == weights

    return check


def _stored_arrays(out):
    """The bytes of the trained model's arrays by path; the file itself holds times."""
    arrays = {}
    with h5py.File(out / "model" / "model.weights.h5") as file:
        file.visititems(
            lambda path, item: arrays.update(
                {path: item[()].tobytes()} if isinstance(item, h5py.Dataset) else {}
            )
        )
    return arrays


@pytest.fixture(scope="session")
def command_line_in(tiny_model_in):
    """Makes what makes the command line of a complete tiny task in a folder."""

    def made(folder):
        data = folder / "data"
        data.mkdir()
        for name, rows in (("train", 64), ("dev", 20), ("test", 20)):
            _write_table(data / f"{name}.tsv", rows, seed=rows + len(name))
        defaults = {
            "task_name": "custom",
            "data_dir": data,
            **tiny_model_in(folder, _PIECES, initializer_range=0.02),
            "max_seq_length": 16,
            "train_batch_size": 16,
            "train_step": 60,
            "save_checkpoints_steps": 30,
            "learning_rate": 5e-3,
        }

        def make(**changes):
            values = {**defaults, **changes}
            return [f"--{k}={v}" for k, v in values.items() if v is not None]

        return make

    return made


@pytest.fixture
def command_line(tmp_path, command_line_in):
    """Makes the command line of a complete tiny task."""
    return command_line_in(tmp_path)


@pytest.fixture(scope="session")
def finished_in(tmp_path_factory, command_line_in):
    """The output folder of a finished run with the flags `FINISHED`."""
    folder = tmp_path_factory.mktemp("finished")
    argv = ["run_classifier.py", *command_line_in(folder)(**FINISHED)]
    run_repeatedly(parse(ClassifierOptions, argv))
    return folder / "out"


@pytest.fixture
def finished(finished_in, tmp_path):
    """A copy of that folder where `flags` writes."""
    return shutil.copytree(finished_in, tmp_path / "out")


def _write_table(path, rows, seed):
    """`good` or `bad` among other words decides the label."""
    chance = random.Random(seed)
    lines = ["label\tsentence"]
    for _ in range(rows):
        label = chance.choice(["good", "bad"])
        words = chance.choices(_OTHER_WORDS, k=5)
        words.insert(chance.randrange(5), label)
        lines.append(f"{'yes' if label == 'good' else 'no'}\t{' '.join(words)}")
    path.write_text("\n".join(lines) + "\n")
