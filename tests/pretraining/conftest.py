"""The options of short runs."""

import pytest
from tensorflow.python.framework.config import disable_op_determinism

from albert_tf.cli.command_line import parse
from albert_tf.pretraining.flags import PretrainingOptions


@pytest.fixture
def options(flags):
    """Makes the options of a short run."""

    def make(**changes):
        return parse(PretrainingOptions, ["run_pretraining.py", *flags(**changes)])

    return make


@pytest.fixture
def deterministic():
    """`--deterministic`, which switches the whole process, and back afterwards."""
    yield {"deterministic": True}
    disable_op_determinism()
