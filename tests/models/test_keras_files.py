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
model = keras.models.load_model(sys.argv[1])
print(type(model).__name__, type(model.optimizer).__name__)
np.save(sys.argv[2], model(np.ones((1, 5), "int32")))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("imports", "optimizer", "schedule", "loaded"),
    [
        ("import keras\nimport albert_tf", "lamb", "polynomial", "LAMB"),
        ("from albert_tf import AlbertModel", "lamb", "polynomial", "LAMB"),
        ("import keras\nimport albert_tf", "muon", "wsd", "Muon"),
    ],
)
def test_a_fresh_process_loads_a_file(
    imports, optimizer, schedule, loaded, tiny_config, tmp_path
):
    model = albert_tf.AlbertForSequenceClassification(tiny_config(), labels=["a", "b"])
    rule = create_optimizer(optimizer, 1e-3, 10, 2, schedule)
    model.compile(optimizer=rule, loss="mse")
    model.save(tmp_path / "model.keras")
    script, *paths = _LOAD.format(imports=imports), "model.keras", "out.npy"
    found = subprocess.run(
        [sys.executable, "-c", script, *(str(tmp_path / path) for path in paths)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.stdout == f"AlbertForSequenceClassification {loaded}\n", found.stderr
    expected = model(np.ones((1, 5), "int32"))
    np.testing.assert_allclose(np.load(tmp_path / "out.npy"), expected, atol=1e-6)


def test_every_class_is_where_the_table_says():
    for stand_in in registry.stand_ins().values():
        stand_in.load()
    known = keras.saving.get_custom_objects()
    for name in registry.stand_ins():
        assert known[name].__name__ == name.removeprefix("albert_tf>")
