"""A fine-tuning run goes on with what it was made of, and with nothing else."""

import json

import pytest

from albert_tf.errors import UserError

_RUN = {"do_train": True, "train_step": 4, "save_checkpoints_steps": 2}


@pytest.mark.parametrize("name", ["train", "dev"])
@pytest.mark.parametrize("kind", ["fewer rows", "another label", "another text"])
def test_a_table_that_has_changed_is_refused(flags, tmp_path, name, kind):
    flags(**_RUN)
    path = tmp_path / "data" / f"{name}.tsv"
    lines = path.read_text().splitlines()
    if kind == "fewer rows":
        lines.pop()
    elif kind == "another label":
        label, text = lines[3].split("\t")
        lines[3] = f"{'no' if label == 'yes' else 'yes'}\t{text}"
    else:
        lines[3] += " very"
    before = path.read_text()
    path.write_text("\n".join(lines) + "\n")
    for steps in (4, 8):  # the run is finished, or goes on
        message = f"{name}.tsv has changed since the run in .*out began"
        with pytest.raises(UserError, match=message):
            flags(**{**_RUN, "train_step": steps})
    path.write_text(before)
    flags(**_RUN)


def test_a_flag_that_has_changed_is_refused(flags):
    flags(**_RUN)
    with pytest.raises(UserError, match="a run with --learning_rate=0.005, not 0.1;"):
        flags(**_RUN, learning_rate=0.1)
    flags(**_RUN, eval_batch_size=3)


def test_a_run_from_before_a_flag_was_added_goes_on(flags, tmp_path):
    out = flags(**_RUN)
    path = out / "flags.json"
    record = json.loads(path.read_text())
    del record["flags"]["layer_decay"], record["flags"]["optimizer"]
    path.write_text(json.dumps(record))
    flags(**_RUN)
    # Version 0.1.0 kept the flags alone.
    path.write_text(json.dumps(record["flags"]))
    flags(**_RUN)
