"""Surroundings of every test: XLA's compilation, places of files, drawn pictures."""

import os
import shutil

import pytest

_RAM = "/dev/shm"
_LEAST_FREE = 4 << 30  # a test leaves 100 MB at most, and pytest keeps what failed


def _ram_is_fit():
    if not os.access(_RAM, os.W_OK) or shutil.disk_usage(_RAM).free < _LEAST_FREE:
        return False
    return not os.statvfs(_RAM).f_flag & os.ST_NOEXEC  # tests run scripts they write


# A file is synchronized to the disk in 4 ms and removed in 3; in memory, neither takes
# 0.1 ms. `PYTEST_DEBUG_TEMPROOT=/tmp make test` tests on the disk.
if _ram_is_fit():
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", _RAM)

# XLA compiles a tiny model for 6 seconds, of which it optimizes machine code for 2, and
# runs it for a hundredth of one. `XLA_FLAGS= make test` tests what users run.
_UNOPTIMIZED = "--xla_backend_optimization_level=0"
os.environ.setdefault("XLA_FLAGS", _UNOPTIMIZED)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Deals out files, and all of serving's to one process, which share exports."""
    from xdist.scheduler import LoadFileScheduling

    class ByFile(LoadFileScheduling):
        def _split_scope(self, nodeid):
            folder = "tests/serving/"
            return folder if nodeid.startswith(folder) else super()._split_scope(nodeid)

    return ByFile(config, log) if config.getoption("dist") == "loadfile" else None


@pytest.fixture(scope="session", autouse=True)
def graphs_as_they_are():
    """Has TensorFlow rewrite graphs no further than it takes to run them.

    To optimize a tiny model's training step takes a tenth of the time in which it is
    traced and run.
    """
    _set_graphs_optimized(False)


@pytest.fixture
def graphs_optimized():
    """Has TensorFlow optimize the graphs of one test, as it does for users."""
    _set_graphs_optimized(True)
    yield
    _set_graphs_optimized(False)


# Without the two other passes, which inline functions and prune what nothing reads, a
# process of the suite takes several times the memory.
_PASSES = (
    "arithmetic_optimization",
    "constant_folding",
    "dependency_optimization",
    "layout_optimizer",
    "loop_optimization",
    "remapping",
    "shape_optimization",
)


def _set_graphs_optimized(value):
    import tensorflow as tf

    runs = value or os.environ["XLA_FLAGS"] != _UNOPTIMIZED
    tf.config.optimizer.set_experimental_options(dict.fromkeys(_PASSES, runs))


@pytest.fixture(autouse=True)
def pictures_on_request(request, monkeypatch):
    """Draws pictures only for tests marked `pictures`.

    `curves.png` takes half a second to draw, and several hundred tests train a model.
    """
    if not request.node.get_closest_marker("pictures"):
        monkeypatch.setattr("albert_tf.display.plots.Figure", None)


@pytest.fixture(autouse=True)
def loops_of_any_duration(monkeypatch):
    """Keeps a busy machine from shortening loops, at whose ends tests look."""
    monkeypatch.setattr("albert_tf.engine.trainer._LOOP_SECONDS", 1e6)


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
