"""The options of short runs; runs that are killed, or do not train."""

import contextlib
import json
import shutil

import numpy as np
import pytest
from tensorflow.python.framework.config import disable_op_determinism

from albert_tf.cli.command_line import parse
from albert_tf.engine.device_loop import DeviceLoop
from albert_tf.pretraining import run as command
from albert_tf.pretraining.data import PretrainingData
from albert_tf.pretraining.flags import PretrainingOptions
from albert_tf.pretraining.settings import resolve
from albert_tf.tokenization import load_tokenizer


@pytest.fixture
def options(flags):
    """Makes the options of a short run."""

    def make(**changes):
        return parse(PretrainingOptions, ["run_pretraining.py", *flags(**changes)])

    return make


@pytest.fixture
def settings(options):
    """Makes the resolved options of a short run."""
    return lambda **changes: resolve(options(**changes))


@pytest.fixture
def run(settings):
    """Pretrains with changed flags; returns the held-out metrics."""
    return lambda **changes: command.pretrain(settings(**changes))


@pytest.fixture(scope="session")
def tokenizer(material):
    """The tokenizer of the records."""
    return load_tokenizer(material / "vocab.model")


@pytest.fixture
def data_of(settings, tokenizer):
    """Makes the data of a run with changed flags."""
    return lambda **changes: PretrainingData(settings(**changes), tokenizer)


@pytest.fixture
def described(tmp_path):
    """Copies data into a folder, described otherwise."""

    def copy(source, name, **changes):
        path = shutil.copytree(source, tmp_path / name) / "dataset_info.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
        (path.parent / "SHA256SUMS").unlink()
        return path.parent

    return copy


@pytest.fixture
def deterministic():
    """`--deterministic`, which switches the whole process, and back afterwards."""
    yield {"deterministic": True}
    disable_op_determinism()


@pytest.fixture
def untrained(monkeypatch):
    """Ends a run before its first step, and a plan before it is measured."""
    monkeypatch.setattr(command, "_train", lambda *arguments: None)
    monkeypatch.setattr(command, "measured_lines", lambda *arguments: [])


@pytest.fixture
def reading_only():
    """Makes a context of runs that do not train; it gives the ids that they read."""

    @contextlib.contextmanager
    def read_only():
        batches = []

        def read(loop, stage, count):
            for _ in range(count):
                batches.append(next(stage.iterator)["input_ids"].numpy())
            loop.train_step.optimizer.iterations.assign_add(count)
            sums = np.ones([len(loop.train_step.metric_names), 2], np.float32)
            return sums, np.array([1, 1])

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(DeviceLoop, "run", read)
            yield batches

    return read_only


@pytest.fixture
def batches_read(reading_only):
    """The ids of the batches that the runs of a test read, none of which trains."""
    with reading_only() as batches:
        yield batches
