"""Finished runs are kept for whoever asks for the same."""

import pytest

from albert_tf.errors import UserError
from albert_tf.io import checksums
from benchmarks.measuring import kept_runs


@pytest.mark.parametrize("changed", ["deeper/x-1.tfrecord", "dataset_info.json"])
def test_runs_are_kept_for_the_same_settings_and_contents(changed, tmp_path):
    runs, data = tmp_path / "runs", tmp_path / "data"
    (data / "deeper").mkdir(parents=True)
    (data / "deeper" / "x-1.tfrecord").write_text("as it was")
    info = data / "dataset_info.json"
    info.write_text("{}")
    (data / checksums.NAME).write_text(f"{checksums.of_file(info)}  {info.name}\n")
    kept_runs.check(runs, data=data, steps=2)
    data = data.rename(tmp_path / "moved")
    (data / "log").touch()
    kept_runs.check(runs, steps=2, data=data)
    with pytest.raises(UserError, match="runs holds .* steps=2, which is 3 now; name"):
        kept_runs.check(runs, data=data, steps=3)
    (data / changed).write_text("as it is")
    with pytest.raises(UserError, match="made with other contents of --data; name"):
        kept_runs.check(runs, data=data, steps=2)
