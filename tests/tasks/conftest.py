"""A complete tiny fine-tuning task, run by flags."""

import functools
import json
import random
import shutil

import numpy as np
import pytest

from albert_tf import bundle
from albert_tf.cli.command_line import parse
from albert_tf.config import AlbertConfig
from albert_tf.engine.reporting.summaries import read_eval_results
from albert_tf.io.whole_folder import ChecksummedFolder
from albert_tf.tasks import training
from albert_tf.tasks.classification.flags import ClassifierOptions
from albert_tf.tasks.commands.run import run_repeatedly
from albert_tf.tasks.tokenized_examples import TokenizedExamples
from albert_tf.tokenization import load_tokenizer
from albert_tf.tokenization.wordpiece import WordPieceTokenizer
from tests.vocabularies import wordpiece
from tools.verify.recordings import RecordedWindows

_OTHER_WORDS = ["the", "a", "film", "plot", "was", "is", "and", "very", "not", "it"]
_PIECES = ["good", "bad", *_OTHER_WORDS]
FINISHED = {"do_train": True, "train_step": 4, "save_checkpoints_steps": 2}
"""The flags of the run that `finished` copies."""
# By which a model is applied that was not trained from scratch.
APPLIED = {"from_scratch": None, "albert_config_file": None, "vocab_file": None}


def results(out):
    """Returns the numbers of `eval_results.txt` by name."""
    found = read_eval_results(str(out / "eval_results.txt"))
    return {name: float(value) for name, value in found.items()}


def written_flags(values):
    """Returns flags as words of a command line; None leaves one out."""
    return [f"--{k}={v}" for k, v in values.items() if v is not None]


def numbered_rows(lengths, labels=None):
    """Returns rows of so many tokens, which are the row's number, as its label is."""
    lengths = np.asarray(lengths, np.int32)
    rows = np.arange(len(lengths), dtype=np.int32)
    starts = np.cumsum(lengths, dtype=np.int64) - lengths
    labels = rows if labels is None else labels
    return TokenizedExamples(np.repeat(rows, lengths), starts, lengths, lengths, labels)


@pytest.fixture
def command(tmp_path):
    """Makes what runs a command with flags over defaults; see `written_flags`."""

    def of(options_class, **defaults):
        def run(**changes):
            argv = ["run", *written_flags({**defaults, **changes})]
            run_repeatedly(parse(options_class, argv))
            return tmp_path / "out"

        return run

    return of


@pytest.fixture
def flags(command, defaults):
    """Runs the command with flags; the defaults are a complete tiny task."""
    return command(ClassifierOptions, **defaults)


@pytest.fixture
def asked(flags, monkeypatch):
    """Returns the task and the tables that flags would train, score or apply."""

    def found(run, **changes):
        given = []
        monkeypatch.setattr(run, "run_task", lambda *own: given.append(own) or {})
        flags(**changes)
        [(_, task, examples, *_)] = given
        return task, examples

    return found


@pytest.fixture
def saved_task(defaults, tmp_path):
    """Saves a random model of a task, with the sizes of `defaults`; its folder."""

    def save(task, **info):
        config = AlbertConfig.from_json_file(defaults["albert_config_file"])
        model = task.model_class(config, **task.model_arguments())
        tokenizer = load_tokenizer(defaults["vocab_file"])
        info["task"] = task.to_dict()
        model.save_pretrained(tmp_path / "tuned", tokenizer, info)
        return tmp_path / "tuned"

    return save


@pytest.fixture
def built(flags, monkeypatch):
    """Makes a `Trainer` that has its `batches`, and their `width`; trains nothing."""

    def stop(trainer, stages, *arguments):
        raise KeyboardInterrupt(trainer, stages[0].dataset)

    monkeypatch.setattr(training.Trainer, "train", stop)

    def build(**changes):
        with pytest.raises(KeyboardInterrupt) as found:
            flags(do_train=True, **changes)
        trainer, trainer.batches = found.value.args
        trainer.width = trainer.batches.element_spec["input_ids"].shape[1]
        return trainer

    return build


_SIZES = {
    "embedding_size": 8,
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "max_position_embeddings": 32,
    "initializer_range": 0.1,
}


def _tiny_model(folder, pieces, **changes):
    vocab, config = folder / "vocab.txt", folder / "tiny.json"
    vocab.write_text(wordpiece(pieces), "utf-8")
    values = {"vocab_size": 5 + len(pieces), **_SIZES, **changes}
    AlbertConfig(**values).to_json_file(config)
    return {
        "output_dir": folder / "out",
        "from_scratch": True,
        "albert_config_file": config,
        "vocab_file": vocab,
        "use_xla": False,
    }


@pytest.fixture
def tiny_model(tmp_path):
    """Makes the flags of a tiny model that is trained from scratch."""
    return functools.partial(_tiny_model, tmp_path)


@pytest.fixture
def continues_exactly():
    """Trains to step 4, undoes the last two, and trains again: nothing may differ."""

    def check(flags, **changes):
        def train():
            out = flags(**changes, do_train=True, save_checkpoints_steps=2)
            history = json.loads((out / "history.json").read_text())
            variables = bundle.open(out / "model").model().official_variables()
            arrays = {name: own.numpy().tobytes() for name, own in variables.items()}
            return out, history, arrays

        out, history, arrays = train()
        assert [entry["step"] for entry in history] == [2, 4]
        for path in (out / "checkpoints").glob("training-4.*"):
            path.unlink()
        state = out / "checkpoints" / "checkpoint"
        state.write_text(state.read_text().replace("training-4", "training-2"))
        with ChecksummedFolder(out) as folder:
            folder.write_json("history.json", history[:1])
        _, again, same = train()
        for entry in (*history, *again):
            del entry["train_seconds"]
        assert again == history
        assert same == arrays

    return check


def _defaults_in(folder):
    data = folder / "data"
    data.mkdir()
    for name, rows in (("train", 64), ("dev", 20), ("test", 20)):
        _write_table(data / f"{name}.tsv", rows, seed=rows + len(name))
    return {
        "task_name": "custom",
        "data_dir": data,
        **_tiny_model(folder, _PIECES, initializer_range=0.02),
        "max_seq_length": 16,
        "train_batch_size": 16,
        "train_step": 60,
        "save_checkpoints_steps": 30,
        "learning_rate": 5e-3,
    }


@pytest.fixture
def defaults(tmp_path):
    """The flags of a complete tiny task, and its tables."""
    return _defaults_in(tmp_path)


@pytest.fixture(scope="session")
def finished_in(tmp_path_factory):
    """The output folder of a finished run with the flags `FINISHED`."""
    folder = tmp_path_factory.mktemp("finished")
    argv = ["run", *written_flags({**_defaults_in(folder), **FINISHED})]
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


@pytest.fixture(scope="session")
def letters():
    """A WordPiece tokenizer whose pieces are words of one letter, or beginnings."""
    alphabet = "abcdefghijklmnopqrstuvwxyz0123456789.?唐僧师父悟空的是谁"
    return WordPieceTokenizer(wordpiece([*alphabet, "##s", "##ish"]).encode())


@pytest.fixture
def recorded(shared):
    """Windows as the official code recorded them: `recorded("v1")`."""
    folder = shared("fixtures/official_squad")

    def read(name):
        return RecordedWindows(folder, name).windows()

    return read
