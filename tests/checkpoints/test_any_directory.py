"""A model directory with a changed file is loaded as it was saved, or refused."""

import json
import shutil

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from albert_tf import bundle
from albert_tf.config import AlbertConfig
from albert_tf.errors import UserError
from albert_tf.models.classification import AlbertForSequenceClassification
from tools.fuzz.inputs import damaged
from tools.fuzz.inputs import json_files

_WEIGHTS = "model.weights.h5"
_CHECKSUMS = "SHA256SUMS"
_JSON_FILES = ("albert_config.json", "head.json", "training_info.json")


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A directory of a small model, and a copy of it to change."""
    folder = tmp_path_factory.mktemp("saved")
    config = AlbertConfig(
        vocab_size=9,
        embedding_size=3,
        hidden_size=4,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=5,
        max_position_embeddings=6,
    )
    model = AlbertForSequenceClassification(config, labels=["no", "yes"])
    task = {"name": "custom", "kind": "single_label", "pair": False}
    model.save_pretrained(folder / "good", training_info={"task": task, "step": 1})
    # Of the weights alone: other files are read as somebody may have edited them.
    checksums = folder / "good" / _CHECKSUMS
    lines = checksums.read_text().splitlines(keepends=True)
    checksums.write_text("".join(line for line in lines if _WEIGHTS in line))
    shutil.copytree(folder / "good", folder / "any")
    return folder, [np.array(weight) for weight in model.weights]


@pytest.mark.slow
@given(data=st.data())
def test_it_has_the_weights_that_were_saved_or_is_refused(saved, data):
    folder, weights = saved
    name = data.draw(st.sampled_from([*_JSON_FILES, _WEIGHTS, _CHECKSUMS]))
    contents = (folder / "good" / name).read_bytes()
    if name in _JSON_FILES:
        contents = data.draw(json_files(json.loads(contents)))
    else:
        contents = data.draw(damaged(contents))
    path = folder / "any" / name
    path.write_bytes(contents)
    try:
        model = bundle.open(folder / "any").model()
    except UserError as error:
        assert str(folder / "any") in str(error)
    else:
        for loaded, weight in zip(model.weights, weights, strict=False):
            np.testing.assert_array_equal(loaded, weight)
    finally:
        path.write_bytes((folder / "good" / name).read_bytes())
