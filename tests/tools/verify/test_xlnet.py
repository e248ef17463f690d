"""Broken recordings of XLNet."""

import json
import shutil

import numpy as np
import pytest

from albert_tf.errors import UserError
from albert_tf.io.files import read_json_object
from tools import verify
from tools.verify import xlnet


@pytest.fixture
def copied(shared, tmp_path):
    """Copies a recording, with fewer expected arrays."""

    def copy(name, keep, **changes):
        folder = tmp_path / name
        shutil.copytree(shared(f"fixtures/xlnet/{name}"), folder)
        folder.chmod(0o755)
        for file in folder.iterdir():
            file.chmod(0o644)
        arrays = dict(np.load(folder / "expected.npz"))
        arrays = {key: array for key, array in arrays.items() if key.startswith(keep)}
        np.savez(folder / "expected.npz", **{**arrays, **changes})
        return folder

    return copy


def test_a_deviation_fails(copied, capsys):
    folder = copied("hf_classifier", ("logits", "summary"))
    arrays = dict(np.load(folder / "expected.npz"))
    np.savez(folder / "expected.npz", **{**arrays, "logits": arrays["logits"] + 1e-4})
    with pytest.raises(SystemExit):
        verify.main(["", str(folder)])
    assert "1 of 2 arrays agree" in capsys.readouterr().out


def test_other_recipes_are_refused(shared):
    recipe = read_json_object(shared("fixtures/xlnet/official_tf1/train.json"))
    with pytest.raises(UserError, match="asks for 'lamb' with 'poly'; verify takes"):
        xlnet.trained(None, [], {**recipe, "optimizer": "lamb"}, "train.json")


def test_without_memory_the_calls_are_alone(copied):
    folder = copied("hf_lm", "none/step0")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "mem_len": 0}))
    deviations, unknown = verify.verify(folder)
    assert all(deviation.passed for deviation in deviations)
    assert unknown == ["none/step0/mems"]
