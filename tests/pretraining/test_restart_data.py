"""Going on in other data than the checkpoints': refused, or from its start."""

import shutil

import numpy as np
import pytest

from albert_tf.errors import UserError
from albert_tf.models.pretraining import AlbertForPreTraining


@pytest.mark.slow
def test_data_that_was_moved(run, material, tmp_path, lines):
    def weights(steps, folder="data", output="model", **changes):
        changes |= {"input_file": tmp_path / folder / "train*", "eval_file": None}
        run(num_train_steps=steps, output_dir=tmp_path / output, **changes)
        model = AlbertForPreTraining.from_pretrained(tmp_path / output)
        return [np.array(variable) for variable in model.trainable_variables]

    data = shutil.copytree(material / "data", tmp_path / "data")
    weights(1)
    shutil.copytree(tmp_path / "model", tmp_path / "copy")
    went_on = weights(2)
    data.rename(tmp_path / "moved")
    with pytest.raises(UserError, match="No checkpoint in .* with --restart_data if"):
        weights(2, "moved", "copy")
    again = weights(2, "moved", "copy", restart_data=True)
    # The first batch once more, not the second.
    assert not all(map(np.array_equal, went_on, again))
    weights(2, "moved", "copy")  # The data are those of the run, from then on.
    steps = [line for line in lines if line.startswith("Continuing")]
    assert [line.split()[3] for line in steps] == ["1", "1", "2"]
