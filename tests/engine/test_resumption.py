"""Changes that a continued run may have."""

import dataclasses
import json

import pytest
import tensorflow as tf

from albert_tf.cli.command_line import option
from albert_tf.engine.checkpointing import RunRecord
from albert_tf.engine.resumption import RESTART_DATA
from albert_tf.engine.resumption import UNKNOWN
from albert_tf.engine.resumption import IdentityEntry
from albert_tf.engine.resumption import check_identity
from albert_tf.engine.resumption import flag_identity
from albert_tf.engine.resumption import stored_values
from albert_tf.errors import UserError


@dataclasses.dataclass(frozen=True)
class Options:
    """Flags of some command."""

    input_file: str = option("Data.", may_change=RESTART_DATA)
    optimizer: str = option("Optimizer.", "lamb")
    num_train_steps: int = option("Steps.", 10, may_change=True)
    restart_data: bool = option("Read other data.", False, may_change=True)


@dataclasses.dataclass(frozen=True)
class LaterOptions(Options):
    """The same a version later."""

    new: float = option("New.", 0.5)


def facts(options_class=Options, **flags):
    return flag_identity(options_class(**{"input_file": "data", **flags}))


def check(now, before):
    check_identity(now, json.loads(json.dumps(stored_values(before))), "out")


def test_a_flag_that_may_not_change_is_named_with_both_values():
    check(facts(num_train_steps=20), facts(LaterOptions))
    with pytest.raises(UserError) as error:
        check(facts(optimizer="adamw", restart_data=True), facts())
    assert str(error.value) == (
        "--optimizer is adamw, but the run in out has lamb; go on with that, or choose "
        "another --output_dir."
    )


def test_data_changes_with_a_flag_only():
    with pytest.raises(UserError) as error:
        check(facts(input_file="other"), facts())
    assert str(error.value) == (
        "--input_file is other, but the run in out has data; go on with that, pass "
        "--restart_data to read the data from its beginning, or choose another "
        "--output_dir."
    )
    check(facts(input_file="other", restart_data=True), facts())


def test_a_run_older_than_a_flag_goes_on_with_its_default():
    check(facts(LaterOptions), facts())
    with pytest.raises(UserError, match="--new is 1.0, but the run in out has 0.5;"):
        check(facts(LaterOptions, new=1.0), facts())


def test_what_nobody_knows_is_like_anything():
    now, unknown = (
        IdentityEntry("vocabulary", value, "It") for value in ("a", UNKNOWN)
    )
    for pair in ((now, unknown), (unknown, now)):
        check(*([fact] for fact in pair))
    assert stored_values([unknown]) == {}


def test_what_an_earlier_version_stored_for_the_same_is_warned_of(caplog):
    earlier = {"old": "it may be cut otherwise"}
    now = IdentityEntry("vocabulary", "new", "It", earlier=earlier)
    check([now], [IdentityEntry("vocabulary", "old", "It")])
    assert caplog.messages == ["The run in out: it may be cut otherwise."]
    with pytest.raises(UserError, match="It is new, but the run in out has 4, not set"):
        check([now], [IdentityEntry("vocabulary", (4, None), "It")])


def test_a_path_may_change_where_its_content_is_the_same():
    def named(path, digest):
        path = IdentityEntry(
            "input_file", path, "--input_file", RESTART_DATA, content="data"
        )
        return [path, IdentityEntry("data", digest, "The digest", RESTART_DATA)]

    before = named("data", "a")
    check(named("/home/data", "a"), before)
    with pytest.raises(UserError, match="The digest is b, but the run in out has a"):
        check(named("data", "b"), before)
    unknown = named("data", UNKNOWN)
    for now, stored in (("b", before), ("a", unknown), (UNKNOWN, unknown)):
        with pytest.raises(UserError, match="--input_file is other, but the run in"):
            check(named("other", now), stored)


def test_a_record_is_saved_with_a_checkpoint(tmp_path):
    begun = tf.train.Checkpoint(record=RunRecord(facts()))
    path = begun.write(str(tmp_path / "run"))
    same, other = RunRecord(facts(LaterOptions)), RunRecord(facts(optimizer="adamw"))
    for record in (same, other):
        tf.train.Checkpoint(record=record).read(path)
    same.check("out")
    with pytest.raises(UserError, match="--optimizer is adamw"):
        other.check("out")


def test_records_of_the_first_format_hold_some_flags_only():
    """Other flags may have had any value."""
    record = RunRecord(facts(LaterOptions, optimizer="adamw", new=1.0))
    record.deserialize('{"input_file": "data"}')
    record.check("out")
    record.deserialize('{"input_file": "other"}')
    with pytest.raises(UserError, match="--input_file is data, but .* has other;"):
        record.check("out")
