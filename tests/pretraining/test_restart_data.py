"""Going on in other data than the checkpoints': refused, or from its start."""

import shutil

import numpy as np
import pytest

from albert_tf.errors import UserError


@pytest.mark.slow
def test_data_that_was_moved(run, material, tmp_path, lines, batches_read):
    def go_on(steps, folder="data", **changes):
        changes |= {"input_file": tmp_path / folder / "train*", "eval_file": None}
        run(num_train_steps=steps, **changes)

    data = shutil.copytree(material / "data", tmp_path / "data")
    go_on(2)
    data.rename(tmp_path / "moved")
    with pytest.raises(UserError, match="No checkpoint in .* with --restart_data if"):
        go_on(3, "moved")
    go_on(3, "moved", restart_data=True)
    go_on(4, "moved")  # The data are those of the run, from then on.
    steps = [line for line in lines if line.startswith("Continuing")]
    assert [line.split()[3] for line in steps] == ["2", "3"]
    first, second, again, after = batches_read
    assert not np.array_equal(first, second)
    np.testing.assert_array_equal(again, first)
    np.testing.assert_array_equal(after, second)
