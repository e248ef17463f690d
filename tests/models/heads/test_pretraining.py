"""The pretraining model against the official code, and its masked LM alone."""

import json
import shutil

import keras
import numpy as np
import pytest
import tensorflow as tf

import albert_tf
from albert_tf import bundle
from albert_tf.models.pretraining import AlbertForMaskedLM
from albert_tf.models.pretraining import AlbertForPreTraining


@pytest.fixture(scope="module", params=["official_tf1_lamb", "official_tf1_adamw"])
def official(request, shared):
    """The model, inputs and outputs of one official checkpoint."""
    folder = shared(f"fixtures/{request.param}")
    config = albert_tf.AlbertConfig.from_json_file(folder / "albert_config.json")
    model = AlbertForPreTraining(config)
    albert_tf.load_tf1_checkpoint(model, folder / "model.ckpt-0")
    inputs = dict(np.load(folder / "inputs.npz"))
    return model, inputs, dict(np.load(folder / "expected.npz"))


@pytest.mark.parametrize(
    ("official", "jit_compile"),
    [
        ("official_tf1_adamw", False),
        ("official_tf1_lamb", False),
        pytest.param("official_tf1_lamb", True, marks=pytest.mark.slow),
    ],
    indirect=["official"],
)
def test_outputs_equal_the_official_ones(official, jit_compile):
    model, inputs, expected = official
    function = tf.function(model, jit_compile=True) if jit_compile else model
    outputs = function(inputs)
    masked_lm = tf.nn.log_softmax(outputs["masked_lm_logits"])
    sentence_order = tf.nn.log_softmax(outputs["sentence_order_logits"])
    for name, found in (
        ("sequence_output", outputs["sequence_output"]),
        ("pooled_output", outputs["pooled_output"]),
        ("mlm_log_probs", tf.reshape(masked_lm, (-1, masked_lm.shape[-1]))),
        ("sop_log_probs", sentence_order),
    ):
        np.testing.assert_allclose(found, expected[name], rtol=0, atol=1e-5)


def test_every_layer_equals_the_official_one(official):
    model, inputs, expected = official
    outputs = model.albert(inputs)
    np.testing.assert_allclose(
        outputs["embedding_output"], expected["embedding_output"], rtol=0, atol=1e-5
    )
    for i, hidden in enumerate(outputs["hidden_states"]):
        np.testing.assert_allclose(hidden, expected[f"layer_{i}"], rtol=0, atol=1e-5)


def test_head_is_tied_to_the_word_table(tiny_config, tiny_features):
    model = AlbertForPreTraining(tiny_config())
    tables = [v for v in model.trainable_variables if tuple(v.shape) == (37, 6)]
    assert len(tables) == 1
    before = model(tiny_features)["masked_lm_logits"].numpy()
    unused = next(i for i in range(37) if i not in tiny_features["input_ids"])
    table = tables[0].numpy()
    table[unused, 0] += 1
    tables[0].assign(table)
    difference = np.abs(model(tiny_features)["masked_lm_logits"] - before)
    assert difference[..., unused].min() > 0
    difference[..., unused] = 0
    assert difference.max() == 0


def test_positions_may_be_absent(tiny_config, tiny_features):
    model = AlbertForPreTraining(tiny_config())
    del tiny_features["masked_lm_positions"]
    outputs = model(tiny_features)
    assert set(outputs) == {"sequence_output", "pooled_output", "sentence_order_logits"}


@pytest.mark.slow
def test_a_masked_lm_has_the_same_logits(tiny_config, tiny_features, tmp_path):
    keras.utils.set_random_seed(1)  # some weights magnify rounding
    pretrained = AlbertForPreTraining(tiny_config())
    pretrained.save_pretrained(tmp_path)
    model = AlbertForMaskedLM.from_pretrained(tmp_path)
    expected = pretrained(tiny_features)["masked_lm_logits"]
    np.testing.assert_allclose(model(tiny_features), expected, atol=1e-6)
    positions = tiny_features.pop("masked_lm_positions")
    everywhere = tf.gather(model(tiny_features), positions, batch_dims=1)
    np.testing.assert_allclose(everywhere, expected, atol=1e-6)
    # The best of the first 30 pieces.
    shares = tf.nn.softmax(everywhere[..., :30]).numpy()
    tiny_features["masked_lm_positions"] = positions
    for own in (model, pretrained):
        probabilities, ids = own.best_tokens(tiny_features, 3, vocab_size=30)
        np.testing.assert_array_equal(ids, np.argsort(-shares, -1)[..., :3])
        best = np.sort(shares, -1)[..., ::-1][..., :3]
        np.testing.assert_allclose(probabilities, best, atol=1e-6)


def test_a_masked_lm_of_hugging_face(shared, tmp_path):
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
