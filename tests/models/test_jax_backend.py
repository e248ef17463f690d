"""The models on Keras' JAX backend, in a process of its own, without TensorFlow."""

import os
import subprocess
import sys

import numpy as np
import pytest

from albert_tf.models.pretraining import AlbertForPreTraining

PROGRAM = """
import json
import sys

sys.modules["tensorflow"] = None  # whoever imports it gets an ImportError

import keras
import numpy as np
import pytest

from albert_tf.config import AlbertConfig
from albert_tf.errors import UserError
from albert_tf.models.pretraining import AlbertForPreTraining

assert keras.backend.backend() == "jax"
config = AlbertConfig.from_dict(json.loads(sys.argv[1]))
model = AlbertForPreTraining(config)
weights = np.load(sys.argv[2])
for name, variable in model.official_variables().items():
    variable.assign(weights[name])
features = dict(np.load(sys.argv[3]))
outputs = model(features)
np.savez(sys.argv[4], **{name: np.asarray(value) for name, value in outputs.items()})


def dropped(seed):
    seed = keras.ops.convert_to_tensor(seed, "int32")
    outputs = model(features, training=True, dropout_seed=seed)
    return np.asarray(outputs["sequence_output"])


assert (dropped([1, 2]) == dropped([1, 2])).all()
assert abs(dropped([1, 2]) - dropped([1, 3])).max() > 0.1
with pytest.raises(UserError, match="need the Keras backend tensorflow, not jax"):
    AlbertForPreTraining(config, depth_loop=True)
"""


@pytest.mark.slow
def test_outputs_equal_those_of_tensorflow(
    tiny_config, tiny_features, tmp_path, project
):
    model = AlbertForPreTraining(
        tiny_config(hidden_dropout_prob=0.1, num_hidden_layers=2)
    )
    weights = {name: v.numpy() for name, v in model.official_variables().items()}
    paths = [str(tmp_path / name) for name in ("weights.npz", "in.npz", "out.npz")]
    np.savez(paths[0], **weights)
    np.savez(paths[1], **tiny_features)
    model.config.to_json_file(tmp_path / "config.json")
    config = (tmp_path / "config.json").read_text()
    # Without tests/absent, which hides JAX.
    own = {"KERAS_BACKEND": "jax", "PYTHONPATH": str(project)}
    environment = {**os.environ, **own}
    command = [sys.executable, "-c", PROGRAM, config, *paths]
    subprocess.run(command, check=True, env=environment, cwd=tmp_path)
    theirs = np.load(paths[2])
    for name, value in model(tiny_features).items():
        np.testing.assert_allclose(theirs[name], value, atol=1e-5)
