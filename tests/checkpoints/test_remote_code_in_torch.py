"""The PyTorch models in directories of other blocks compute what ours do."""

import importlib.util
import json
import os
import subprocess
import sys

import numpy as np
import pytest

import albert_tf
from tests.models.block_reference import MODERN
from tests.models.block_reference import make

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not all(map(importlib.util.find_spec, ("torch", "transformers"))),
        reason="needs torch and transformers: pip install 'albert-tf[bench]'",
    ),
]

_DROPOUT = {"hidden_dropout_prob": 0.5, "attention_probs_dropout_prob": 0.5}
BLOCKS = [
    {"position_embedding_type": "rotary", **_DROPOUT},
    {"norm": "pre"},
    {"norm": "pre", "use_bias": False, "hidden_act": "gelu_erf"},
    {"hidden_act": "geglu", "layer_norm_eps": 1e-5},
    {"hidden_act": "swiglu", "use_bias": False, "embedding_size": 12},
    {"local_attention_window": 2},
    {"local_attention_window": 1, "global_attention_every": 2, "hidden_act": "relu"},
    {**MODERN, "hidden_act": "swiglu", "parameter_sharing": "none"},
    {**MODERN, "parameter_sharing": "attention", "num_hidden_groups": 2},
    {**MODERN, "parameter_sharing": "ffn", "inner_group_num": 2},
    {**MODERN, "num_hidden_groups": 2, "inner_group_num": 2, "type_vocab_size": 1},
    {"depth_adapter_rank": 2},
    {**MODERN, "depth_adapter_rank": 3, "parameter_sharing": "attention"},
    {**MODERN, "depth_adapter_rank": 1, "parameter_sharing": "ffn"},
    {"padding_idx": 1, "type_vocab_size": 1},  # a mapping, which RoBERTa lacks
    {**MODERN, "padding_idx": 1},
    {"norm": "pre", "padding_idx": 0, "always_map_embeddings": True},
    {"use_bias": False, "hidden_act": "tanh"},
]
LABELS = {"labels": ("a", "b", "c")}
MANY = {**LABELS, "label_kind": "multi_label"}
NUMBER = {"label_kind": "regression"}
_TEXTS = "SequenceClassification"
_OF_TOKENS = [[-100, 3, 4, -100, -100, 9, 1]] * 2, [[-100, 0, 1, 2, 2, 1, -100]] * 2
_SPANS = {"start_positions": [2, 7], "end_positions": [3, 9]}
# Our class and its arguments, what follows AutoModel in the name of theirs, and what
# its loss takes.
HEADS = {
    "words": ("MaskedLM", {}, {"labels": _OF_TOKENS[0]}),
    "tokens": ("TokenClassification", LABELS, {"labels": _OF_TOKENS[1]}),
    "texts": (_TEXTS, LABELS, {"labels": [2, 0]}),
    "multi_label": (_TEXTS, MANY, {"labels": [[1.0, 0.0, 1.0], [0.0, 0.0, 1.0]]}),
    "regression": (_TEXTS, NUMBER, {"labels": [0.5, 2.0]}),
    "answers": ("QuestionAnswering", {}, _SPANS),
    "choices": ("MultipleChoice", {}, {"labels": [1, 0, 1]}),
    "pretraining": (
        "PreTraining",
        {},
        {"labels": _OF_TOKENS[0], "sentence_order_label": [1, 0]},
    ),
}
_KEYS = ("missing", "unexpected", "mismatched")
_CLASSIFIER = ["classifier.bias", "classifier.weight"]
_OTHER_KEYS = {"encoder": {"unexpected": _CLASSIFIER}, "new": {"missing": _CLASSIFIER}}
_MASK, _SEGMENTS = "attention_mask", "token_type_ids"


@pytest.fixture(scope="module")
def features():
    """Of two texts, the second padded, as lists."""
    ids = np.random.default_rng(3).integers(2, 37, (2, 7))
    ids[1, 5:] = 1
    return {
        "input_ids": ids.tolist(),
        _MASK: [[1] * 7, [1] * 5 + [0] * 2],
        _SEGMENTS: [[0] * 3 + [1] * 4] * 2,
    }


@pytest.fixture(scope="module")
def cases(features, tiny_config):
    """Our models, with theirs and the features, by name."""
    # Of three questions, one without its first choice and one without any.
    choices = {name: [value] * 3 for name, value in features.items()}
    choices[_MASK] = [choices[_MASK][0], [[0] * 7, [1] * 7], [[0] * 7] * 2]
    found = {}
    for number, changes in enumerate(BLOCKS):
        config = tiny_config(num_attention_heads=2, **changes)
        model = make(config, return_attentions=True)
        found[str(number)] = (model, "AutoModel", features)
    for name, (head, arguments, labels) in HEADS.items():
        ours, changes = getattr(albert_tf, f"AlbertFor{head}"), MODERN
        if name == "words":
            changes = {**MODERN, "tie_word_embeddings": False, "padding_idx": 1}
        rows = {**(choices if name == "choices" else features), **labels}
        model = make(tiny_config(num_attention_heads=2, **changes), ours, **arguments)
        found[name] = (model, f"AutoModelFor{head}", rows)
    half = {"start_positions": _SPANS["start_positions"]}
    for name, labels in (("answers", half), ("pretraining", {"labels": [[0] * 7] * 2})):
        model, auto, _ = found[name]
        found[f"{name} without a loss"] = (model, auto, {**features, **labels})
    # The encoder of a classifier, and a classifier for an encoder.
    found["encoder"] = (found["texts"][0], "AutoModel", features)
    found["new"] = (found["0"][0], "AutoModelForSequenceClassification", features)
    return found


@pytest.fixture(scope="module")
def place(cases, tmp_path_factory, project):
    """The folder of all cases, which PyTorch has answered in a process of its own."""
    place = tmp_path_factory.mktemp("directories")
    for name, (model, auto, rows) in cases.items():
        model.save_pretrained(place / name, format="huggingface")
        case = json.dumps({"auto": auto, "features": rows})
        (place / name / "case.json").write_text(case)
    command = [sys.executable, "-m", "tests.checkpoints.torch_reader", str(place)]
    environment = {**os.environ, "HF_MODULES_CACHE": str(place / "modules")}
    subprocess.run(command, cwd=project, env=environment, check=True)
    return place


@pytest.fixture
def answered(place, cases):
    """Returns our outputs and theirs, by implementation of attention."""

    def read(name):
        model, _, rows = cases[name]
        inputs = {key: np.array(rows[key]) for key in ("input_ids", _MASK, _SEGMENTS)}
        if name.startswith("pretraining"):
            inputs["masked_lm_positions"] = np.tile(np.arange(7), (2, 1))
        theirs = {
            implementation: dict(np.load(place / name / f"{implementation}.npz"))
            for implementation in ("eager", "sdpa")
        }
        for arrays in theirs.values():
            keys = {n: [*arrays[f"{n}_keys"]] for n in _KEYS}
            assert keys == {**dict.fromkeys(_KEYS, []), **_OTHER_KEYS.get(name, {})}
        return model, model(inputs), theirs

    return read


def assert_same(found, expected):
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_every_state_equals_ours(number, answered, features):
    model, ours, theirs = answered(str(number))
    tokens = np.array(features[_MASK], bool)  # padding may see more padding there

    def assert_same_states(found, expected):
        assert_same(found[tokens], np.array(expected)[tokens])

    for arrays in theirs.values():
        assert_same_states(arrays["last_hidden_state"], ours["sequence_output"])
        assert_same(arrays["pooler_output"], ours["pooled_output"])
    eager, inner = theirs["eager"], model.config.inner_group_num
    mapped = model.first_block_input(ours["embedding_output"])
    layers = [mapped, *ours["hidden_states"][inner - 1 :: inner]]
    layers[-1] = ours["sequence_output"]
    for place, expected in enumerate(layers):
        assert_same_states(eager[f"hidden_states_{place}"], expected)
    for block, expected in enumerate(ours["attentions"]):
        heads = np.swapaxes(eager[f"attentions_{block}"], 1, 2)
        assert_same_states(heads, np.swapaxes(expected, 1, 2))


@pytest.mark.parametrize("name", HEADS)
def test_heads_equal_ours(name, answered):
    _, ours, theirs = answered(name)
    for arrays in theirs.values():
        if name == "answers":
            assert_same(arrays["start_logits"], ours["start_logits"])
            assert_same(arrays["end_logits"], ours["end_logits"])
        elif name == "pretraining":
            assert_same(arrays["sop_logits"], ours["sentence_order_logits"])
            assert_same(arrays["prediction_logits"], ours["masked_lm_logits"])
        else:
            assert_same(arrays["logits"], ours)


def cross_entropy(logits, labels):
    """The mean over labels from 0 on, of logits [..., classes]."""
    labels = np.array(labels)
    kept = labels >= 0
    chosen = np.array(logits, np.float64)[kept]
    own = np.take_along_axis(chosen, labels[kept][:, None], axis=1)[:, 0]
    return np.mean(np.log(np.exp(chosen).sum(axis=1)) - own)


@pytest.mark.parametrize("name", [name for name, own in HEADS.items() if own[2]])
def test_losses_and_gradients(name, cases, answered):
    _, ours, theirs = answered(name)
    labels = cases[name][2]
    if name == "multi_label":
        ours = np.stack([np.zeros_like(ours), ours], axis=-1)
        expected = cross_entropy(ours, np.int32(labels["labels"]))
    elif name == "regression":
        expected = np.mean((ours[:, 0] - np.array(labels["labels"])) ** 2)
    elif name == "answers":  # of the second row, the text holds none
        halves = (("start_logits", 2), ("end_logits", 3))
        expected = np.mean([cross_entropy(ours[n][:1], [own]) for n, own in halves])
    elif name == "pretraining":
        expected = cross_entropy(ours["masked_lm_logits"], labels["labels"])
        order = ours["sentence_order_logits"], labels["sentence_order_label"]
        expected += cross_entropy(*order)
    else:
        expected = cross_entropy(ours, labels["labels"])
    for arrays in theirs.values():
        np.testing.assert_allclose(arrays["loss"], expected, rtol=1e-5)
        assert not arrays["untrained"].size


@pytest.mark.parametrize("name", ["answers", "pretraining"])
def test_a_loss_needs_all_labels(name, answered):
    for arrays in answered(f"{name} without a loss")[2].values():
        assert "loss" not in arrays


def test_dropout_and_first_weights(answered, tiny_config):
    _, _, theirs = answered("0")
    assert theirs["eager"]["trained"].std(axis=0).max() > 0.01  # of states, twice
    assert theirs["sdpa"]["trained"].std(axis=0).max() > 0.01
    spread = tiny_config().initializer_range
    assert 1.9 * spread < theirs["eager"]["drawn"] <= 2 * spread


def test_an_encoder_without_its_head_and_a_new_head(answered):
    model, logits, theirs = answered("encoder")
    head = model.classifier
    found = theirs["eager"]["pooler_output"] @ np.transpose(head.output_weights)
    assert_same(found + np.array(head.output_bias), logits)
    _, _, theirs = answered("new")
    assert 0 < np.abs(theirs["eager"]["logits"]).max() < 3  # drawn, not left as found


@pytest.mark.parametrize("name", ["texts", "words", "0", "11"])
def test_what_transformers_saved_opens_here(name, place, cases):
    model = cases[name][0]
    again = type(model).from_pretrained(place / name / "again")
    assert again.config == model.config
    assert again.head_config() == model.head_config()
    unused = again.load_report.missing
    assert set(unused) <= {"bert/pooler/dense/kernel", "bert/pooler/dense/bias"}
    found = again.official_variables()
    for own, variable in model.official_variables().items():
        if own not in unused:
            np.testing.assert_array_equal(found[own], variable)
