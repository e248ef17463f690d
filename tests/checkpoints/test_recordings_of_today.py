"""Today's encoders give the numbers of transformers 5.24, and are written back."""

import json

import numpy as np
import pytest
from safetensors import numpy as safetensors

from albert_tf import bundle
from tools import encoder_gradients
from tools import verify

_HEADS = ("encoder", "masked_lm", "sequence", "tokens", "questions")
_ENCODERS = ("modernbert", "distilbert", "electra", "xlm-roberta", "deberta-v2")


@pytest.mark.slow
@pytest.mark.parametrize("head", _HEADS)
@pytest.mark.parametrize("encoder", _ENCODERS)
def test_as_recorded(encoder, head, shared, tmp_path):
    folder = shared(f"fixtures/today/{encoder}/{head}")
    features = dict(np.load(folder / "inputs.npz"))
    expected = dict(np.load(folder / "expected.npz"))
    model = bundle.open(folder).model()
    _compare(model, features, expected)
    model.save_pretrained(tmp_path, format="huggingface")
    written = bundle.open(tmp_path)
    assert written.config == model.config
    _compare(written.model(), features, expected)
    theirs = safetensors.load_file(folder / "model.safetensors")
    ours = safetensors.load_file(tmp_path / "model.safetensors")
    assert ours.keys() == theirs.keys()
    for name, tensor in theirs.items():
        np.testing.assert_array_equal(ours[name], tensor)


@pytest.mark.slow
@pytest.mark.parametrize("encoder", _ENCODERS)
@pytest.mark.parametrize(
    "head",
    [
        "masked_lm",
        *(pytest.param(h, marks=pytest.mark.nightly) for h in ("sequence", "choices")),
    ],
)
def test_gradients(encoder, head, tmp_path):
    config, weights, inputs, expected = encoder_gradients.read(f"{encoder}/{head}")
    (tmp_path / "config.json").write_text(json.dumps(config))
    safetensors.save_file(weights, tmp_path / "model.safetensors")
    np.savez(tmp_path / "inputs.npz", **inputs)
    np.savez(tmp_path / "expected.npz", **expected)
    deviations, unknown = verify.verify(tmp_path)
    assert not unknown
    assert len(deviations) == len(weights) + 1
    assert not [deviation for deviation in deviations if not deviation.passed]


def _compare(model, features, expected):
    outputs, seen = model(features), features["input_mask"] == 1
    for name, values in expected.items():
        found = np.asarray(outputs[name] if isinstance(outputs, dict) else outputs)
        if values.shape[:2] == seen.shape:
            found, values = found[seen], values[seen]
        np.testing.assert_allclose(found, values, rtol=0, atol=1e-5)
