"""Changes that a continued run may have."""

import dataclasses
import json

import pytest
import tensorflow as tf

from albert_tf.cli.command_line import option
from albert_tf.engine.checkpointing import RunRecord
from albert_tf.engine.reporting import recorded_run
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
    new: float = option("New.", 0.5)


def facts(options_class=Options, **flags):
    return flag_identity(options_class(**{"input_file": "data", **flags}))


def named(path, digest):
    """The path of some data, and the digest by which a run knows them."""
    path = IdentityEntry("input_file", path, "--input_file", RESTART_DATA, content="d")
    return [path, IdentityEntry("d", digest, "The digest", RESTART_DATA)]


def check(now, before):
    check_identity(now, json.loads(json.dumps(stored_values(before))), "out")


_OPTIMIZER = "--optimizer is adamw, but the run in out has lamb; go on with that, or ch"
_OTHER = "--input_file is other, but the run in out has data; go on with that, pass --"


@pytest.mark.parametrize(
    ("now", "before", "message"),
    [
        (facts(num_train_steps=20), facts(LaterOptions), None),
        (facts(optimizer="adamw", restart_data=True), facts(), _OPTIMIZER),
        (facts(input_file="other"), facts(), _OTHER),
        (facts(input_file="other", restart_data=True), facts(), None),
        # A run that is older than a flag goes on with its default.
        (facts(LaterOptions), facts(), None),
        (facts(LaterOptions, new=1.0), facts(), "--new is 1.0, but the run in out ha"),
        # What nobody knows is like anything.
        (named("data", "a"), named("data", UNKNOWN), None),
        (named("data", UNKNOWN), named("data", "a"), None),
        # A path may change where its content is the same, and is known.
        (named("other", "a"), named("data", "a"), None),
        (named("data", "b"), named("data", "a"), "The digest is b, but the run in "),
        (named("other", "b"), named("data", "a"), _OTHER),
        (named("other", "a"), named("data", UNKNOWN), _OTHER),
        (named("other", UNKNOWN), named("data", UNKNOWN), _OTHER),
    ],
)
def test_what_a_continued_run_may_change(now, before, message):
    if message is None:
        check(now, before)
        return
    with pytest.raises(UserError) as error:
        check(now, before)
    assert str(error.value).startswith(message)


def test_what_an_earlier_version_stored_for_the_same_is_warned_of(caplog):
    earlier = {"old": "it may be cut otherwise"}
    now = IdentityEntry("vocabulary", "new", "It", earlier=earlier)
    check([now], [IdentityEntry("vocabulary", "old", "It")])
    assert caplog.messages == ["The run in out: it may be cut otherwise."]
    with pytest.raises(UserError, match="It is new, but the run in out has 4, not set"):
        check([now], [IdentityEntry("vocabulary", (4, None), "It")])


def test_a_record_is_saved_with_a_checkpoint(tmp_path):
    """Of the first format it holds some flags only; others may have had any value."""
    begun = tf.train.Checkpoint(record=RunRecord(facts()))
    path = begun.write(str(tmp_path / "run"))
    same, other = RunRecord(facts(LaterOptions)), RunRecord(facts(optimizer="adamw"))
    for record in (same, other):
        tf.train.Checkpoint(record=record).read(path)
    same.check("out")
    with pytest.raises(UserError, match="--optimizer is adamw"):
        other.check("out")
    tf.train.Checkpoint(data_record=RunRecord(facts())).write(f"{tmp_path}/training-2")
    (tmp_path / "training-3.index").write_bytes(b"")
    assert recorded_run._settings(str(tmp_path)) == stored_values(facts())
    record = RunRecord(facts(LaterOptions, optimizer="adamw", new=1.0))
    record.deserialize('{"input_file": "data"}')
    record.check("out")
    record.deserialize('{"input_file": "other"}')
    with pytest.raises(UserError, match="--input_file is data, but .* has other;"):
        record.check("out")
