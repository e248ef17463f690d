"""`.keras` files load in a fresh process that has imported Keras and `albert_tf`."""

import subprocess
import sys

import keras
import numpy as np
import pytest

import albert_tf
from albert_tf.families import registry
from albert_tf.optimizers import create_optimizer

_LOAD = """
import sys
{imports}
import keras
import numpy as np
for path in sys.argv[1:]:
    model = keras.models.load_model(path)
    print(type(model).__name__, type(model.optimizer).__name__)
    np.save(path + ".npy", model(np.ones((1, 5), "int32")))
"""

_SCHEDULES = {"lamb": "polynomial", "muon": "wsd"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("imports", "loaded"),
    [
        ("import keras\nimport albert_tf", {"lamb": "LAMB", "muon": "Muon"}),
        ("from albert_tf import AlbertModel", {"lamb": "LAMB"}),
    ],
)
def test_a_fresh_process_loads_files(imports, loaded, tiny_config, tmp_path):
    model = albert_tf.AlbertForSequenceClassification(tiny_config(), labels=["a", "b"])
    paths = []
    for optimizer in loaded:
        rule = create_optimizer(optimizer, 1e-3, 10, 2, _SCHEDULES[optimizer])
        model.compile(optimizer=rule, loss="mse")
        paths.append(str(tmp_path / f"{optimizer}.keras"))
        model.save(paths[-1])
    found = subprocess.run(
        [sys.executable, "-c", _LOAD.format(imports=imports), *paths],
        capture_output=True,
        text=True,
        check=False,
    )
    names = [f"AlbertForSequenceClassification {name}" for name in loaded.values()]
    assert found.stdout.splitlines() == names, found.stderr
    expected = model(np.ones((1, 5), "int32"))
    for path in paths:
        np.testing.assert_allclose(np.load(f"{path}.npy"), expected, atol=1e-6)


def test_every_class_is_where_the_table_says():
    for stand_in in registry.stand_ins().values():
        stand_in.load()
    known = keras.saving.get_custom_objects()
    for name in registry.stand_ins():
        assert known[name].__name__ == name.removeprefix("albert_tf>")
