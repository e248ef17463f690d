"""What surrounds every test: how XLA compiles, where files lie, what is drawn."""

import os
import shutil

import pytest

_RAM = "/dev/shm"
_LEAST_FREE = 4 << 30

# XLA compiles these tiny models for 6 seconds and runs them for a hundredth of one. A
# third of that is the optimization of machine code. `XLA_FLAGS= make test` optimizes.
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")

# Whatever is written is synchronized to the disk, which takes 4 ms a file, and 3 ms
# more to remove it; in memory neither takes 0.1.
if os.access(_RAM, os.W_OK) and shutil.disk_usage(_RAM).free > _LEAST_FREE:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", _RAM)


@pytest.fixture(autouse=True)
def pictures_on_request(request, monkeypatch):
    """Draws pictures only for tests marked `pictures`.

    `curves.png` takes half a second to draw, and several hundred tests train a model.
    """
    if not request.node.get_closest_marker("pictures"):
        monkeypatch.setattr("albert_tf.display.plots.Figure", None)


@pytest.fixture
def nothing_converted(monkeypatch):
    """Fails the test if autograph converts a function of this project.

    A run of pretraining or data creation waited a second for that.
    """
    from tensorflow.python.autograph.impl.api import PyToTF

    converted, transform = [], PyToTF.transform

    def noted(self, function, context):
        converted.append(f"{function.__module__}.{function.__qualname__}")
        return transform(self, function, context)

    monkeypatch.setattr(PyToTF, "transform", noted)
    yield
    assert [n for n in converted if n.startswith(("albert_tf", "data_pipeline"))] == []
