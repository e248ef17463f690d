"""The masked language model alone."""

import json
import shutil

import keras
import numpy as np
import pytest
import tensorflow as tf

from albert_tf import bundle
from albert_tf.errors import UserError
from albert_tf.models.albert import AlbertModel
from albert_tf.models.pretraining import AlbertForMaskedLM
from albert_tf.models.pretraining import AlbertForPreTraining


def test_logits_of_the_pretraining_model(tiny_config, tiny_features, tmp_path):
    keras.utils.set_random_seed(1)  # some weights magnify rounding
    pretrained = AlbertForPreTraining(tiny_config())
    pretrained.save_pretrained(tmp_path)
    model = AlbertForMaskedLM.from_pretrained(tmp_path)
    expected = pretrained(tiny_features)["masked_lm_logits"]
    np.testing.assert_allclose(model(tiny_features), expected, atol=1e-6)
    positions = tiny_features.pop("masked_lm_positions")
    everywhere = tf.gather(model(tiny_features), positions, batch_dims=1)
    np.testing.assert_allclose(everywhere, expected, atol=1e-6)


def test_best_tokens(tiny_config, tiny_features):
    model = AlbertForMaskedLM(tiny_config())
    logits = model(tiny_features).numpy()[..., :30]
    shares = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    probabilities, ids = model.best_tokens(tiny_features, 3, vocab_size=30)
    np.testing.assert_array_equal(ids, np.argsort(-logits, -1, "stable")[..., :3])
    best = np.sort(shares, -1)[..., ::-1][..., :3]
    np.testing.assert_allclose(probabilities, best, atol=1e-6)


def test_hugging_face_directory(shared, tmp_path):
    """Theirs has neither a pooler nor the sentence order's head."""
    from safetensors import numpy as safetensors

    folder = shared("fixtures/huggingface_pretraining")
    tensors = safetensors.load_file(folder / "model.safetensors")
    kept = {k: v for k, v in tensors.items() if "pooler" not in k and "sop" not in k}
    assert len(kept) < len(tensors)
    safetensors.save_file(kept, tmp_path / "model.safetensors")
    config = json.loads((folder / "config.json").read_text())
    config["architectures"] = ["AlbertForMaskedLM"]
    (tmp_path / "config.json").write_text(json.dumps(config))

    assert bundle.open(tmp_path).head()[0] is AlbertForMaskedLM
    model = AlbertForMaskedLM.from_pretrained(tmp_path)
    inputs = dict(np.load(folder / "inputs.npz"))
    expected = np.load(folder / "expected.npz")["mlm_log_probs"]
    found = tf.nn.log_softmax(model(inputs)).numpy().reshape(expected.shape)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)

    shutil.rmtree(tmp_path)
    model.save_pretrained(tmp_path, format="huggingface")
    written = safetensors.load_file(tmp_path / "model.safetensors")
    for name, tensor in kept.items():
        np.testing.assert_array_equal(written[name], tensor)
    config = json.loads((tmp_path / "config.json").read_text())
    assert config["architectures"] == ["AlbertForMaskedLM"]


def test_a_model_without_the_head_is_refused(tiny_config, tmp_path):
    AlbertModel(tiny_config()).save_pretrained(tmp_path)
    with pytest.raises(UserError, match="cls/predictions"):
        AlbertForMaskedLM.from_pretrained(tmp_path)
