"""The options of short runs."""

import pytest

from albert_tf.cli.command_line import parse
from albert_tf.pretraining.flags import PretrainingOptions


@pytest.fixture
def options(flags):
    """Makes the options of a short run."""

    def make(**changes):
        return parse(PretrainingOptions, ["run_pretraining.py", *flags(**changes)])

    return make
