"""Flags of early exits reach the model, or are refused."""

import pytest

from albert_tf.errors import UserError
from albert_tf.exit_rule import ExitRule
from albert_tf.models.flags import AppliedExitFlags
from albert_tf.models.flags import EarlyExitFlags


def test_all_flags_of_training_reach_the_rule():
    flags = EarlyExitFlags(
        early_exit=True, exit_heads="shared", exit_threshold=3, exit_tolerance=0.5
    )
    rule = ExitRule("patience", 3, 0.5)
    assert flags.exit_arguments() == {"exit_heads": "shared", "exit_rule": rule}
    with pytest.raises(UserError, match="--exit_tolerance needs --early_exit"):
        EarlyExitFlags(exit_tolerance=0.5).check_early_exit()


def test_the_flags_that_are_given_replace_the_kept_rule():
    assert AppliedExitFlags().asked_rule is None
    assert AppliedExitFlags(exit_rule="none", exit_threshold=2).asked_rule == "none"
    given = AppliedExitFlags(exit_threshold=0.0, exit_tolerance=0.5)
    assert given.asked_rule == {"threshold": 0.0, "tolerance": 0.5}
