"""ModernBERT and Ettin: the settings of their files, read and written back."""

import json
import math

import numpy as np
import pytest
from safetensors import numpy as safetensors

import albert_tf
from albert_tf import bundle
from albert_tf.config import AlbertConfig
from albert_tf.errors import UserError
from albert_tf.families.modernbert import MODERNBERT
from tests.models.block_reference import ACTIVATIONS

_ACTIVATIONS = {**ACTIVATIONS, "gelu": ACTIVATIONS["gelu_erf"]}


class Reference:
    """Computes outputs in float64.

    Args:
        entries: the dict of a `config.json`.
        tensors: arrays by Hugging Face name, with the prefix "model.".
    """

    def __init__(self, entries, tensors):
        self.entries = entries
        self.tensors = {name: np.float64(array) for name, array in tensors.items()}

    def dense(self, name, inputs):
        outputs = inputs @ self.tensors[f"{name}.weight"].T
        return outputs + self.tensors.get(f"{name}.bias", 0)

    def norm(self, name, inputs):
        centred = inputs - inputs.mean(-1, keepdims=True)
        scale = np.sqrt((centred**2).mean(-1, keepdims=True) + self.entries["norm_eps"])
        outputs = centred / scale * self.tensors[f"{name}.weight"]
        return outputs + self.tensors.get(f"{name}.bias", 0)

    def rotated(self, heads, base):
        """Rotates `[batch, heads, tokens, size]`."""
        half = heads.shape[-1] // 2
        angles = np.arange(heads.shape[2])[:, None] * base ** (-np.arange(half) / half)
        first, second = heads[..., :half], heads[..., half:]
        cosine, sine = np.cos(angles), np.sin(angles)
        turned = [first * cosine - second * sine, second * cosine + first * sine]
        return np.concatenate(turned, -1)

    def attention(self, name, inputs, mask, layer):
        entries, (batch, tokens, width) = self.entries, inputs.shape
        heads = entries["num_attention_heads"]
        joined = self.dense(f"{name}.Wqkv", inputs)
        parts = joined.reshape(batch, tokens, 3, heads, -1).transpose(2, 0, 3, 1, 4)
        is_global = layer % entries["global_attn_every_n_layers"] == 0
        base = entries[f"{'global' if is_global else 'local'}_rope_theta"]
        query, key, value = (*(self.rotated(p, base) for p in parts[:2]), parts[2])
        places = np.arange(tokens)
        far = abs(places[:, None] - places) > entries["local_attention"] // 2
        hidden = (mask[:, None, None] == 0) | (far & (not is_global))
        scores = query @ key.swapaxes(-1, -2) / math.sqrt(width // heads)
        scores = np.where(hidden, -1e9, scores)
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        mixed = scores / scores.sum(-1, keepdims=True) @ value
        mixed = mixed.swapaxes(1, 2).reshape(batch, tokens, width)
        return self.dense(f"{name}.Wo", mixed)

    def encoder(self, ids, mask):
        table = self.tensors["model.embeddings.tok_embeddings.weight"]
        hidden = self.norm("model.embeddings.norm", table[ids])
        activation = _ACTIVATIONS[self.entries["hidden_activation"]]
        for layer in range(self.entries["num_hidden_layers"]):
            name = f"model.layers.{layer}"
            read = self.norm(f"{name}.attn_norm", hidden) if layer else hidden
            hidden = hidden + self.attention(f"{name}.attn", read, mask, layer)
            read = self.norm(f"{name}.mlp_norm", hidden)
            first, gate = np.split(self.dense(f"{name}.mlp.Wi", read), 2, -1)
            hidden = hidden + self.dense(f"{name}.mlp.Wo", activation(first) * gate)
        return self.norm("model.final_norm", hidden)

    def head(self, hidden):
        activation = _ACTIVATIONS[self.entries["classifier_activation"]]
        return self.norm("head.norm", activation(self.dense("head.dense", hidden)))

    def texts(self, ids, mask):
        """Computes the logits of texts."""
        hidden = self.encoder(ids, mask)
        pooled = hidden[:, 0]
        if self.entries["classifier_pooling"] == "mean":
            pooled = (hidden * mask[..., None]).sum(1) / mask.sum(1, keepdims=True)
        return self.dense("classifier", self.head(pooled))

    def tokens(self, ids, mask):
        """Computes the logits of tokens."""
        return self.dense("classifier", self.head(self.encoder(ids, mask)))

    def words(self, ids, mask):
        """Computes the logits of the vocabulary."""
        table = self.tensors["model.embeddings.tok_embeddings.weight"]
        decoder = self.tensors.get("decoder.weight", table)
        logits = self.head(self.encoder(ids, mask)) @ decoder.T
        return logits + self.tensors.get("decoder.bias", 0)


IDS = np.random.default_rng(2).integers(0, 31, (2, 11))
MASK = np.array([[1] * 11, [1] * 8 + [0] * 3])
ENTRIES = {
    "vocab_size": 31,
    "hidden_size": 12,
    "intermediate_size": 10,
    "num_hidden_layers": 4,
    "num_attention_heads": 3,
    "model_type": "modernbert",
    "max_position_embeddings": 16,
    "norm_eps": 1e-5,
    "global_attn_every_n_layers": 3,
    "local_attention": 4,
    "global_rope_theta": 1000.0,
    "local_rope_theta": 10.0,
    "hidden_activation": "gelu",
    "classifier_activation": "gelu",
    "classifier_pooling": "mean",
    "pad_token_id": 0,
}
_BIASES = {
    "attention_bias": "model.layers.0.attn.Wqkv",
    "mlp_bias": "model.layers.0.mlp.Wi",
    "norm_bias": "model.final_norm",
    "classifier_bias": "head.dense",
}
SETTINGS = [
    {},
    {"tie_word_embeddings": False, "decoder_bias": False, "mlp_bias": True},
    {"classifier_pooling": "cls", "norm_bias": True, "local_attention": 7},
]
_OTHERS = [
    {"norm_eps": 0.01, "hidden_activation": "silu", "classifier_activation": "relu"},
    {"hidden_activation": "relu", "classifier_activation": "tanh"},
    {"global_attn_every_n_layers": 2},
    {"global_attn_every_n_layers": 1, "global_rope_theta": 50.0},
    dict.fromkeys(_BIASES, True),
    *({name: True} for name in _BIASES),
]
SETTINGS += [pytest.param(other, marks=pytest.mark.nightly) for other in _OTHERS]


def _write(folder, changes, head):
    """Writes a random model; returns its entries and tensors."""
    entries = {**ENTRIES, **changes, "architectures": [f"ModernBertFor{head}"]}
    config = MODERNBERT.config_from_huggingface(entries, "config.json")
    arguments = {"num_labels": 2} if "Classification" in head else {}
    model = getattr(albert_tf, f"AlbertFor{head}")(config, **arguments)
    model.save_pretrained(folder, format="huggingface")
    path, draw = folder / "model.safetensors", np.random.default_rng(7)
    path.with_name("SHA256SUMS").unlink()
    tensors = {
        name: draw.normal(0.1, 0.4, own.shape).astype(np.float32)
        for name, own in sorted(safetensors.load_file(path).items())
    }
    for entry, name in _BIASES.items():
        assert (f"{name}.bias" in tensors) == entries.get(entry, False)
    if head == "MaskedLM":
        assert ("decoder.bias" in tensors) == entries.get("decoder_bias", True)
        is_tied = entries.get("tie_word_embeddings", True)
        assert ("decoder.weight" in tensors) != is_tied
    safetensors.save_file(tensors, path, {"format": "pt"})
    (folder / "config.json").write_text(json.dumps(entries))
    return entries, tensors


def _check(folder, expected):
    model = bundle.open(folder).model()
    features = {"input_ids": IDS, "input_mask": MASK}
    for form in ("huggingface", "model_directory", None):
        found = model(features)
        if isinstance(found, dict):
            found = np.stack([found["start_logits"], found["end_logits"]], -1)
        is_token = np.ndim(found) == 3
        rows = (found[MASK > 0], expected[MASK > 0]) if is_token else (found, expected)
        np.testing.assert_allclose(*rows, rtol=0, atol=1e-5)
        if form:
            model.save_pretrained(folder / form, format=form)
            again = bundle.open(folder / form).model()
            assert (again.config, type(again)) == (model.config, type(model))
            model = again
    return folder / "huggingface"


@pytest.mark.slow
@pytest.mark.parametrize("changes", SETTINGS)
def test_every_setting_is_obeyed_and_written(changes, tmp_path):
    entries, tensors = _write(tmp_path, changes, "SequenceClassification")
    _check(tmp_path, Reference(entries, tensors).texts(IDS, MASK))
    (tmp_path / "words").mkdir()
    entries, tensors = _write(tmp_path / "words", changes, "MaskedLM")
    written = _check(tmp_path / "words", Reference(entries, tensors).words(IDS, MASK))
    found = safetensors.load_file(written / "model.safetensors")
    assert found.keys() == tensors.keys()
    for name, tensor in tensors.items():
        np.testing.assert_array_equal(found[name], tensor)


@pytest.mark.parametrize("head", ["TokenClassification", "QuestionAnswering"])
def test_heads_of_tokens(head, tmp_path):
    entries, tensors = _write(tmp_path, {"classifier_bias": True}, head)
    _check(tmp_path, Reference(entries, tensors).tokens(IDS, MASK))


def test_a_new_classifier_starts_from_the_head_of_the_language_model(tmp_path):
    _, tensors = _write(tmp_path, {}, "MaskedLM")
    make = albert_tf.AlbertForSequenceClassification.from_pretrained
    model = make(tmp_path, num_labels=2)
    kernel = tensors["head.dense.weight"].T
    np.testing.assert_array_equal(model.albert.pooler.kernel, kernel)
    assert {*model.load_report.missing} == {"output_weights", "output_bias"}
    assert not model.saved_task_info


def test_other_blocks_are_refused(tmp_path):
    entries, _ = _write(tmp_path, {}, "MaskedLM")
    values = {**bundle.open(tmp_path).config.to_dict(), "hidden_act": "relu"}
    model = albert_tf.AlbertModel(AlbertConfig.from_dict(values))
    with pytest.raises(UserError, match="has no model whose blocks have"):
        model.save_pretrained(tmp_path / "new", format="huggingface")


def test_pretraining_goes_on_but_has_no_class_of_theirs(tmp_path):
    _write(tmp_path, {}, "MaskedLM")
    make = albert_tf.AlbertForPreTraining.from_pretrained
    model = make(tmp_path, allow_missing="cls/seq_relationship")
    features = {"input_ids": IDS, "input_mask": MASK}
    places = {"masked_lm_positions": np.array([[1, 4], [0, 3]])}
    heads = model({**features, **places}, heads_only=True)
    whole = model({**features, **places})
    for name in ("masked_lm_logits", "sentence_order_logits"):
        np.testing.assert_allclose(heads[name], whole[name], rtol=0, atol=1e-5)
    with pytest.raises(UserError, match="or as an AlbertForMaskedLM"):
        model.save_pretrained(tmp_path / "new", format="huggingface")
