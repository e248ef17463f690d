"""Settings of directories that other libraries wrote: obeyed, or refused by name.

The expected numbers are of transformers 5.24.0 on the same directories.
"""

import json

import numpy as np
import pytest
from safetensors import numpy as safetensors

import albert_tf
from albert_tf.errors import UserError
from albert_tf.xlnet.config import XLNetConfig
from albert_tf.xlnet.heads import XLNetForSequenceClassification

IDS = np.array([[2, 9, 17, 5, 3], [2, 11, 3, 8, 3]])
SEGMENTS = np.array([[0, 0, 0, 1, 1], [0, 0, 0, 1, 1]])
_ROBERTA = {"padding_idx": 1, "type_vocab_size": 1, "layer_norm_eps": 1e-5}
_WIDE = {"embedding_size": 12, "parameter_sharing": "none"}
_XLNET = XLNetConfig(
    n_token=37, d_model=12, n_layer=2, n_head=3, d_head=4, d_inner=20, untie_r=True
)
_UNTIED = {"tie_word_embeddings": False, "vocab_size": 37}
_TANH = [[1.56343, 2.05236], [1.56355, 2.05124]]
# By name: entries of the config.json, and the first logits of each row.
CASES = {
    "eps": ({"layer_norm_eps": 0.01}, [[1.56136, 2.05063], [1.56155, 2.04953]]),
    "gelu_tanh": ({"hidden_act": "gelu_pytorch_tanh"}, _TANH),
    "silu": ({"hidden_act": "silu"}, [[1.80614, 1.84001], [1.80539, 1.83725]]),
    "one_segment": ({"type_vocab_size": 1}, [[1.34364, 1.25538], [1.34608, 1.25128]]),
    "untied": (_UNTIED, [[0.36104, 0.18876], [0.36053, 0.18712]]),
    "roberta_untied": (_UNTIED, [[-1.24308, -0.42483], [-1.24501, -0.42823]]),
    "xlnet_first": (
        {"summary_type": "first"},
        [[-0.01347, -0.47854], [0.02034, -0.38336]],
    ),
    "xlnet_mean": (
        {"summary_type": "mean"},
        [[-0.01093, -0.40343], [-0.00546, -0.39681]],
    ),
    "xlnet_unprojected": (
        {"summary_use_proj": False},
        [[1.23889, -1.55555], [1.24856, -1.5364]],
    ),
    "xlnet_inactive": (
        {"summary_activation": ""},
        [[0.29664, 1.11544], [0.34347, 1.11382]],
    ),
}


def model_of(name, tiny_config):
    entries, _ = CASES[name]
    if name.startswith("xlnet"):
        return XLNetForSequenceClassification(_XLNET, num_labels=2)
    changes = {**_ROBERTA, **_WIDE} if name.startswith("roberta") else {}
    changes["type_vocab_size"] = entries.get("type_vocab_size", 2)
    if "untied" in name:
        return albert_tf.AlbertForMaskedLM(tiny_config(**changes))
    return albert_tf.AlbertForSequenceClassification(tiny_config(**changes), 2)


def write(folder, tiny_config, name):
    """Writes the directory of a case; returns the class of its model."""
    entries, _ = CASES[name]
    model = model_of(name, tiny_config)
    model.save_pretrained(folder, format="huggingface")
    (folder / "SHA256SUMS").unlink()
    tensors = safetensors.load_file(folder / "model.safetensors")
    if "untied" in name:
        bias = next(n for n in tensors if n in ("predictions.bias", "lm_head.bias"))
        decoder = bias.replace("bias", "decoder")
        width = model.config.embedding_size
        tensors[f"{decoder}.weight"] = np.zeros((37, width), np.float32)
        tensors[f"{decoder}.bias"] = np.zeros(37, np.float32)
    if entries.get("summary_use_proj") is False:
        tensors = {n: t for n, t in tensors.items() if "summary" not in n}
    random = np.random.RandomState(0)
    for key in sorted(tensors):
        shape = tensors[key].shape
        tensors[key] = random.normal(0, 0.5, shape).astype(np.float32)
    safetensors.save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, **entries}))
    return type(model)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_as_theirs(name, tiny_config, tmp_path):
    model = write(tmp_path, tiny_config, name).from_pretrained(tmp_path)
    features = {"input_ids": IDS, "segment_ids": SEGMENTS}
    found = model(features)
    shown = np.reshape(found, (2, -1))[:, :2]
    np.testing.assert_allclose(shown, CASES[name][1], rtol=0, atol=2e-5)
    # It stays the same function, in one form after the other.
    for form in ("model_directory", "huggingface"):
        model.save_pretrained(tmp_path / form, format=form)
        model = type(model).from_pretrained(tmp_path / form)
    np.testing.assert_allclose(model(features), found, rtol=0, atol=1e-6)


def test_a_summary_reads_no_padding(tiny_config, tmp_path):
    for kind in ("first", "mean"):
        model = XLNetForSequenceClassification(_XLNET, num_labels=2, summary_type=kind)
        padded = {
            "input_ids": np.pad(IDS, ((0, 0), (2, 0))),
            "segment_ids": np.pad(SEGMENTS, ((0, 0), (2, 0)), constant_values=3),
            "input_mask": np.pad(np.ones_like(IDS), ((0, 0), (2, 0))),
        }
        alone = model({"input_ids": IDS, "segment_ids": SEGMENTS})
        np.testing.assert_allclose(model(padded), alone, rtol=0, atol=1e-6)
        with pytest.raises(
            UserError, match="The official XLNet has no other summary_t"
        ):
            model.save_pretrained(tmp_path / kind, format="tf1")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"function_to_apply": "none"}, "sets function_to_apply to 'none', which"),
        ({"auto_map": {"AutoModel": "a.B"}}, "sets auto_map to .*take it out of the"),
        ({"quantization_config": {"bits": 4}}, "sets quantization_config to"),
        ({"pruned_heads": {"0": [1]}}, "sets pruned_heads to"),
        ({"is_decoder": True}, "sets is_decoder to True, expected False"),
        ({"sbert_ce_default_activation_function": "torch.nn.Sigmoid"}, "ies Sigmoid"),
        ({"sentence_transformers": {"activation_fn": "a.Softmax"}}, "applies Softmax"),
        ({"sentence_transformers": {"other": 1}}, "sets other to 1, which"),
    ],
)
def test_what_is_not_followed(changes, message, tiny_config, reconfigure, tmp_path):
    write(tmp_path, tiny_config, "eps")
    reconfigure(**changes)
    with pytest.raises(UserError, match=message):
        albert_tf.AlbertForSequenceClassification.from_pretrained(tmp_path)


@pytest.mark.slow
def test_what_changes_no_answer(tiny_config, reconfigure, tmp_path):
    write(tmp_path, tiny_config, "eps")
    import transformers

    entries = transformers.BertConfig().to_dict()
    entries |= {"top_k": 50, "num_beams": 4, "task_specific_params": {"a": {"b": 1}}}
    entries |= {"torch_dtype": "float32", "_name_or_path": "x", "gap_size": 0}
    entries |= {"label2id": {"no": 0}, "unknown": None, "directionality": "bidi"}
    identity = "torch.nn.modules.linear.Identity"
    entries["sentence_transformers"] = {"activation_fn": identity, "version": "4.1"}
    config = json.loads((tmp_path / "config.json").read_text())
    reconfigure(**{**entries, **config})
    albert_tf.AlbertForSequenceClassification.from_pretrained(tmp_path)
    sigmoid = {"activation_fn": "torch.nn.Sigmoid"}
    kind = {"problem_type": "multi_label_classification"}
    reconfigure(sentence_transformers=sigmoid, **kind)
    model = albert_tf.AlbertForSequenceClassification.from_pretrained(tmp_path)
    assert model.label_kind == "multi_label"


def test_two_numbers_stay_two_numbers(tiny_config, reconfigure, tmp_path):
    write(tmp_path, tiny_config, "eps")
    reconfigure(problem_type="regression")
    model = albert_tf.AlbertForSequenceClassification.from_pretrained(tmp_path)
    assert (model.label_kind, model.labels, model.num_labels) == ("regression", None, 2)
    assert model.task_info() is None
    model.save_pretrained(tmp_path / "again", format="huggingface")
    entries = json.loads((tmp_path / "again" / "config.json").read_text())
    assert entries["problem_type"] == "regression"


def test_adapters(tiny_config, tmp_path):
    write(tmp_path / "model", tiny_config, "eps")
    (tmp_path / "alone").mkdir()
    names = {"model": "adapter_config.json", "alone": "adapter_model.safetensors"}
    for folder, name in names.items():
        (tmp_path / folder / name).write_text("{}")
        message = rf"holds an adapter \({name}\).* model.merge_and_unload\(\)"
        with pytest.raises(UserError, match=message):
            albert_tf.AlbertModel.from_pretrained(tmp_path / folder)


def test_numbers_without_a_row(tiny_config):
    model = albert_tf.AlbertForMaskedLM(tiny_config())
    for name, value, most in (
        ("input_ids", 37, 36),
        ("input_ids", -1, 36),
        ("token_type_ids", 7, 1),
        ("masked_lm_positions", 5, 4),
    ):
        wrong = np.full((2, 5 if name != "masked_lm_positions" else 1), value)
        features = {"input_ids": IDS, name: wrong}
        message = f"holds {value}; the model takes 0 to {most}"
        with pytest.raises(UserError, match=message):
            model(features)
        with pytest.raises(UserError, match=message):
            model.predict(features, verbose=0)
