"""Today's encoders give the numbers of transformers 5.24, and are written back."""

import numpy as np
import pytest
from safetensors import numpy as safetensors

from albert_tf import bundle

_HEADS = ("encoder", "masked_lm", "sequence", "tokens", "questions")
_ENCODERS = ("modernbert", "distilbert", "electra", "xlm-roberta")


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


def _compare(model, features, expected):
    outputs, seen = model(features), features["input_mask"] == 1
    for name, values in expected.items():
        found = np.asarray(outputs[name] if isinstance(outputs, dict) else outputs)
        if values.shape[:2] == seen.shape:
            found, values = found[seen], values[seen]
        np.testing.assert_allclose(found, values, rtol=0, atol=1e-5)
