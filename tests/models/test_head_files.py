"""Each head is written in each form, and read back as it was."""

import json

import keras
import pytest
from safetensors import numpy as safetensors

import albert_tf
from albert_tf import bundle
from albert_tf.errors import UserError
from albert_tf.tasks.registry import read_task
from tests.saved_models import assert_same_weights

_DROPS = {"classifier_dropout_prob": 0.3}
_BEAMS = {"start_n_top": 2, "end_n_top": 3}
# Constructor arguments by class.
_HEADS = {
    "AlbertModel": {},
    "AlbertForPreTraining": {},
    "AlbertForMaskedLM": {},
    "AlbertForSequenceClassification": {**_DROPS, "labels": ["no", "so", "yes"]},
    "AlbertForTokenClassification": {**_DROPS, "labels": ["O", "B-PER", "I-PER"]},
    "AlbertForMultipleChoice": _DROPS,
    "AlbertForQuestionAnswering": {},
    "AlbertForAnswerableQuestions": {**_BEAMS, "head_dropout_prob": 0.2},
    "AlbertForTextEmbedding": {"pooling": "cls", "normalize": True},
}
_ROBERTA = {
    "num_hidden_layers": 1,
    "embedding_size": 12,
    "parameter_sharing": "none",
    "hidden_act": "gelu_erf",
    "type_vocab_size": 1,
    "layer_norm_eps": 1e-5,
    "padding_idx": 1,
}
# Hugging Face's name of a head's weights in ALBERT and in RoBERTa, and whether the
# model has a pooler there.
_THEIRS = {
    "MaskedLM": ("predictions.dense.weight", "lm_head.layer_norm.weight", False),
    "TokenClassification": ("classifier.weight", "classifier.weight", False),
    "MultipleChoice": ("classifier.weight", "classifier.weight", True),
    "QuestionAnswering": ("qa_outputs.weight", "qa_outputs.weight", False),
    "SequenceClassification": ("classifier.weight", "classifier.out_proj.weight", None),
}


@pytest.fixture(scope="module")
def make(tiny_config):
    """Makes the model of a class; by default of groups and inner groups."""
    groups = {
        "num_hidden_layers": 2,
        "num_hidden_groups": 2,
        "inner_group_num": 2,
        "hidden_act": "gelu_erf",
    }

    def build(name, changes=groups):
        return getattr(albert_tf, name)(tiny_config(**changes), **_HEADS[name])

    return build


_CROSS_ENCODER = "sentence_transformers"
_SIGMOID = {"activation_fn": "torch.nn.modules.activation.Sigmoid"}
_IDENTITY = {"activation_fn": "torch.nn.modules.linear.Identity"}


@pytest.mark.parametrize(
    ("kind", "names", "problem", "activation"),
    [
        (None, None, None, None),
        (None, "ab", "single_label_classification", None),
        ("single_label", "a", "single_label_classification", None),
        ("multi_label", "ab", "multi_label_classification", None),
        ("multi_label", "a", "multi_label_classification", _SIGMOID),
        ("regression", None, "regression", _IDENTITY),
    ],
)
def test_their_config_says_what_outputs_mean(
    kind, names, problem, activation, tiny_config
):
    """A `CrossEncoder` of one output would apply the sigmoid, and of more nothing."""
    model = albert_tf.AlbertForSequenceClassification(
        tiny_config(), 1 if names is None else None, labels=names, label_kind=kind
    )
    entries = model.head_config_to_huggingface()
    assert entries.get("problem_type") == problem
    assert entries.get(_CROSS_ENCODER) == activation
    expected = [*(names or ["LABEL_0"])]
    assert entries["id2label"] == {str(i): name for i, name in enumerate(expected)}
    assert entries["label2id"] == {name: i for i, name in enumerate(expected)}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("form", "name"),
    [
        *(("tf1", name) for name in _HEADS),
        *(("model_directory", name) for name, own in _HEADS.items() if own),
        ("keras", "AlbertForMaskedLM"),
        ("keras", "AlbertForAnswerableQuestions"),
    ],
)
def test_each_form_keeps_the_model(form, name, make, tmp_path):
    model = make(name)
    if form == "keras":
        model.save(tmp_path / "model.keras")
        loaded = keras.models.load_model(tmp_path / "model.keras")
    else:
        model.save_pretrained(tmp_path, format=form)
        loaded = type(model).from_pretrained(tmp_path)
    assert type(loaded) is type(model)
    assert loaded.config == model.config
    if form != "tf1":  # which holds tensors and the encoder's config only
        assert loaded.head_config() == {**model.head_config(), **_HEADS[name]}
    assert_same_weights(loaded, model)


@pytest.mark.parametrize("name", _THEIRS)
@pytest.mark.parametrize("family", ["Albert", "Roberta"])
def test_their_directory_names_the_model(family, name, make, tmp_path):
    ours, is_roberta = f"AlbertFor{name}", family == "Roberta"
    model = make(ours, _ROBERTA) if is_roberta else make(ours)
    model.save_pretrained(tmp_path, format="huggingface")
    entries = json.loads((tmp_path / "config.json").read_text())
    assert entries["architectures"] == [f"{family}For{name}"]
    assert entries["model_type"] == family.lower()
    assert entries["max_position_embeddings"] == (18 if is_roberta else 16)
    tensors = safetensors.load_file(tmp_path / "model.safetensors")
    *names, has_pooler = _THEIRS[name]
    assert names[is_roberta] in tensors
    if has_pooler is None:  # RoBERTa's classifier has a dense layer in its place
        assert "classifier.dense.weight" in tensors or not is_roberta
        has_pooler = not is_roberta
    assert any("pooler" in tensor for tensor in tensors) == has_pooler
    assert bundle.open(tmp_path).head()[0] is type(model)
    again = type(model).from_pretrained(tmp_path)
    assert again.config == model.config
    names = again.official_variables().keys() - again.load_report.new
    assert_same_weights(again, model, names)
    if name == "TokenClassification":
        assert entries["id2label"] == {"0": "O", "1": "B-PER", "2": "I-PER"}
        assert entries["label2id"] == {"O": 0, "B-PER": 1, "I-PER": 2}
        assert read_task(bundle.open(tmp_path)).kind == "tagging"


def test_a_classifier_of_tokens_is_none_of_texts(make, tmp_path):
    make("AlbertForTokenClassification").save_pretrained(tmp_path, format="tf1")
    assert bundle.open(tmp_path).head()[0] is albert_tf.AlbertForTokenClassification
    other = albert_tf.AlbertForSequenceClassification.from_pretrained(
        tmp_path, allow_missing=["bert/pooler"], num_labels=3
    )
    assert "output_weights" in other.load_report.new


def test_they_have_no_answers_in_beams(make, tmp_path):
    model = make("AlbertForAnswerableQuestions")
    with pytest.raises(UserError, match="no ALBERT model with start_logits/dense"):
        model.save_pretrained(tmp_path, format="huggingface")
