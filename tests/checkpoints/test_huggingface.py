"""Hugging Face directories, both ways: settings are obeyed, or refused by name.

The expected numbers are of transformers 5.24.0 on the same directories.
"""

import json

import numpy as np
import pytest
from safetensors import numpy as safetensors

import albert_tf
from albert_tf import bundle
from albert_tf.checkpoints.huggingface import save_huggingface
from albert_tf.errors import UserError
from albert_tf.io.foreign import shown
from albert_tf.models.albert import AlbertModel
from albert_tf.models.classification import AlbertForSequenceClassification
from albert_tf.models.classification import AlbertForTokenClassification
from albert_tf.models.pretraining import AlbertForPreTraining
from albert_tf.models.text_embedding import AlbertForTextEmbedding
from albert_tf.tasks.registry import read_task
from albert_tf.tokenization.wordpiece import WordPieceTokenizer
from albert_tf.xlnet.config import XLNetConfig
from albert_tf.xlnet.heads import XLNetForSequenceClassification
from tests.saved_models import assert_same_weights
from tests.vocabularies import wordpiece


def rewrite(directory, change):
    path = directory / "model.safetensors"
    tensors = safetensors.load_file(path)
    change(tensors)
    safetensors.save_file(tensors, path)
    (directory / "SHA256SUMS").unlink(missing_ok=True)


def test_export_has_the_names_of_their_file(shared, tmp_path):
    folder = shared("fixtures/huggingface_pretraining")
    save_huggingface(AlbertForPreTraining.from_pretrained(folder), tmp_path)
    theirs = safetensors.load_file(folder / "model.safetensors")
    ours = safetensors.load_file(tmp_path / "model.safetensors")
    assert set(ours) == set(theirs)
    for name, tensor in theirs.items():
        np.testing.assert_array_equal(ours[name], tensor)
    their_config = json.loads((folder / "config.json").read_text())
    our_config = json.loads((tmp_path / "config.json").read_text())
    for name in set(their_config) & set(our_config):
        assert our_config[name] == their_config[name]


@pytest.mark.slow
def test_equal_sizes_are_mapped_all_the_same(tiny_config, tiny_features, tmp_path):
    model = AlbertModel(tiny_config(embedding_size=12))
    save_huggingface(model, tmp_path)
    loaded = AlbertModel.from_pretrained(tmp_path)
    assert loaded.config.always_map_embeddings
    np.testing.assert_array_equal(loaded.embedding_mapping.kernel, np.eye(12))
    found, expected = (m(tiny_features)["sequence_output"] for m in (loaded, model))
    np.testing.assert_allclose(found, expected, atol=1e-6)
    loaded.save_pretrained(tmp_path / "ours")
    assert AlbertModel.from_pretrained(tmp_path / "ours").config == loaded.config


@pytest.mark.slow
def test_copies_of_tied_tensors_must_be_equal(saved, tmp_path):
    def add_copies(tensors):
        table = tensors["albert.embeddings.word_embeddings.weight"]
        tensors["predictions.decoder.weight"] = table
        tensors["predictions.decoder.bias"] = tensors["predictions.bias"]
        tensors["albert.embeddings.position_ids"] = np.arange(16)[None]

    def untie(tensors):
        name = "predictions.decoder.weight"
        tensors[name] = tensors[name] + 1

    rewrite(tmp_path, add_copies)
    report = AlbertForPreTraining.from_pretrained(tmp_path).load_report
    assert report.unexpected == ()
    rewrite(tmp_path, untie)
    with pytest.raises(UserError, match=r"decoder\.weight that differs from"):
        AlbertForPreTraining.from_pretrained(tmp_path)


def test_weights_in_parts(tiny_config, tmp_path):
    model = AlbertModel(tiny_config())
    save_huggingface(model, tmp_path)
    whole = tmp_path / "model.safetensors"
    tensors = safetensors.load_file(whole)
    whole.unlink()
    (tmp_path / "SHA256SUMS").unlink()
    names = sorted(tensors)
    files = {n: f"model-{i % 2}.safetensors" for i, n in enumerate(names)}
    for file in set(files.values()):
        part = {name: tensors[name] for name in names if files[name] == file}
        safetensors.save_file(part, tmp_path / file)
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"metadata": {}, "weight_map": files}))
    again = AlbertModel.from_pretrained(tmp_path)
    assert_same_weights(again, model)
    index.write_text(json.dumps({"weight_map": {**files, "more": files[names[0]]}}))
    with pytest.raises(UserError, match="holds more, which it does not"):
        AlbertModel.from_pretrained(tmp_path)
    index.write_text(json.dumps({"weight_map": {"a": "gone.safetensors"}}))
    with pytest.raises(UserError, match=r"There is no file .*gone\.safetensors"):
        AlbertModel.from_pretrained(tmp_path)
    safetensors.save_file(tensors, whole)  # before any parts
    assert_same_weights(AlbertModel.from_pretrained(tmp_path), model)


def test_a_model_takes_the_weights_of_a_file(saved, tiny_config, tmp_path):
    for path in (tmp_path, str(tmp_path / "model.safetensors")):
        model = type(saved)(saved.config)
        report = albert_tf.load_huggingface_checkpoint(model, path)
        assert report.source == str(tmp_path / "model.safetensors")
        assert not report.missing
        assert_same_weights(model, saved)
    other = AlbertForSequenceClassification(saved.config, 2)
    with pytest.raises(UserError, match="lacks output_weights, output_bias"):
        albert_tf.load_huggingface_checkpoint(other, tmp_path)
    report = albert_tf.load_huggingface_checkpoint(other, tmp_path, ["output_"])
    assert report.missing == ("output_weights", "output_bias")


def test_a_new_head_has_its_own_dropout(saved, reconfigure, tmp_path):
    for rate in (0.3, None):
        reconfigure(classifier_dropout_prob=rate)
        model = AlbertForSequenceClassification.from_pretrained(tmp_path, num_labels=2)
        assert model.classifier_dropout_prob == 0.1


@pytest.mark.parametrize(
    ("arguments", "entries"),
    [
        ({"labels": ["a", "b", "c"]}, {"problem_type": "single_label_classification"}),
        ({"labels": ["a"], "label_kind": "multi_label"}, {}),
        ({"label_kind": "regression"}, {"problem_type": "regression"}),
    ],
)
def test_config_json_tells_labels_and_kind(
    arguments, entries, tiny_config, reconfigure, tmp_path
):
    model = AlbertForSequenceClassification(tiny_config(), **arguments)
    save_huggingface(model, tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    assert entries.items() <= config.items()
    loaded = AlbertForSequenceClassification.from_pretrained(tmp_path)
    assert loaded.head_config() == model.head_config()
    assert read_task(bundle.open(tmp_path)).kind == arguments.get(
        "label_kind", "single_label"
    )
    reconfigure(problem_type=None, sentence_transformers=None)
    kind = "single_label" if len(arguments.get("labels", ())) > 1 else "regression"
    assert read_task(bundle.open(tmp_path)).kind == kind


def test_labels_that_nobody_named(tiny_config, reconfigure, tmp_path):
    """Their library leaves the names of two out, and calls others by number."""
    save_huggingface(AlbertForSequenceClassification(tiny_config(), 2), tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    reconfigure(id2label={"0": "a", "1": "b", "2": "c"})
    other = AlbertForSequenceClassification.from_pretrained(tmp_path)
    assert (other.num_labels, other.labels) == (2, None)  # as many as weights
    del config["id2label"], config["model_type"]  # which is ALBERT's then
    (tmp_path / "config.json").write_text(json.dumps(config))
    loaded = AlbertForSequenceClassification.from_pretrained(tmp_path)
    assert loaded.labels == ("LABEL_0", "LABEL_1")
    renamed = AlbertForSequenceClassification.from_pretrained(
        tmp_path, labels=["no", "yes"]
    )
    assert renamed.labels == ("no", "yes")
    assert not renamed.load_report.missing
    more = AlbertForSequenceClassification.from_pretrained(tmp_path, num_labels=3)
    assert more.labels is None


_TWO, _TWICE = {"0": "a", "1": "b"}, {"0": "a", "1": "a"}


@pytest.mark.parametrize(
    ("entries", "kind", "labels"),
    [
        ({}, "single_label", ["LABEL_0", "LABEL_1"]),
        ({"id2label": _TWO}, "single_label", ["a", "b"]),
        ({"id2label": _TWO, "problem_type": "single"}, "single_label", ["a", "b"]),
        (
            {"id2label": _TWO, "problem_type": "multi_label_classification"},
            "multi_label",
            ["a", "b"],
        ),
        ({"id2label": {"0": "a"}}, "regression", ["a"]),
        ({"id2label": _TWICE, "problem_type": "regression"}, "regression", None),
        ({"id2label": _TWICE}, None, None),
        ({"id2label": {"0": "a", "2": "b"}}, None, None),
        ({"id2label": ["a", "b"]}, None, None),
    ],
)
def test_labels_of_their_entries(entries, kind, labels):
    own = {} if labels is None else {"num_labels": len(labels), "labels": labels}
    assert AlbertForTokenClassification.labels_from_huggingface(entries) == own
    if kind is not None:
        own = {"num_labels": len(labels or _TWO), "label_kind": kind, **own}
    if kind == "regression":
        own.pop("labels", None)
    assert AlbertForSequenceClassification.labels_from_huggingface(entries) == own


@pytest.mark.slow
def test_weights_are_read_once_and_only_where_they_are_needed(
    tiny_config, tmp_path, monkeypatch
):
    labels = ["no", "yes"]
    tokenizer = WordPieceTokenizer(wordpiece(map(str, range(32))).encode())
    model = AlbertForSequenceClassification(tiny_config(), labels=labels)
    model.save_pretrained(tmp_path, tokenizer, format="huggingface")
    vectors = AlbertForTextEmbedding(tiny_config(), pooling="cls")
    vectors.save_pretrained(tmp_path / "vectors", tokenizer, format="huggingface")
    read, load_file = [], safetensors.load_file
    monkeypatch.setattr(
        safetensors, "load_file", lambda path: read.append(path) or load_file(path)
    )
    assert bundle.open(tmp_path).family is model.family
    assert bundle.open(tmp_path / "vectors").head()[1]["pooling"] == "cls"
    assert not read
    classifier = albert_tf.TextClassifier(tmp_path)
    assert (classifier.model.labels, len(read)) == (("no", "yes"), 1)
    albert_tf.Predictor(tmp_path)
    assert len(read) == 2


IDS = np.array([[2, 9, 17, 5, 3], [2, 11, 3, 8, 3]])
SEGMENTS = np.array([[0, 0, 0, 1, 1], [0, 0, 0, 1, 1]])
_OF_ROBERTA = {"padding_idx": 1, "layer_norm_eps": 1e-5}
_OF_ROBERTA |= {"embedding_size": 12, "parameter_sharing": "none"}
_XLNET = XLNetConfig(
    n_token=37, d_model=12, n_layer=2, n_head=3, d_head=4, d_inner=20, untie_r=True
)
_UNTIED = {"tie_word_embeddings": False, "vocab_size": 37}
_FIRST, _MEAN = {"summary_type": "first"}, {"summary_type": "mean"}
_PLAIN, _INACTIVE = {"summary_use_proj": False}, {"summary_activation": ""}
_TANH = [[1.56343, 2.05236], [1.56355, 2.05124]]
# By name: entries of the config.json, and the first logits of each row.
CASES = {
    "eps": ({"layer_norm_eps": 0.01}, [[1.56136, 2.05063], [1.56155, 2.04953]]),
    "gelu_tanh": ({"hidden_act": "gelu_pytorch_tanh"}, _TANH),
    "silu": ({"hidden_act": "silu"}, [[1.80614, 1.84001], [1.80539, 1.83725]]),
    "one_segment": ({"type_vocab_size": 1}, [[1.34364, 1.25538], [1.34608, 1.25128]]),
    "untied": (_UNTIED, [[0.36104, 0.18876], [0.36053, 0.18712]]),
    "roberta_untied": (_UNTIED, [[-1.24308, -0.42483], [-1.24501, -0.42823]]),
    "xlnet_first": (_FIRST, [[-0.01347, -0.47854], [0.02034, -0.38336]]),
    "xlnet_mean": (_MEAN, [[-0.01093, -0.40343], [-0.00546, -0.39681]]),
    "xlnet_unprojected": (_PLAIN, [[1.23889, -1.55555], [1.24856, -1.5364]]),
    "xlnet_inactive": (_INACTIVE, [[0.29664, 1.11544], [0.34347, 1.11382]]),
}


def write(folder, tiny_config, name):
    """Writes the directory of a case; returns the class of its model."""
    entries, _ = CASES[name]
    changes = _OF_ROBERTA if name.startswith("roberta") else {}
    changes = {**changes, "type_vocab_size": entries.get("type_vocab_size", 2)}
    if name.startswith("xlnet"):
        model = XLNetForSequenceClassification(_XLNET, num_labels=2)
    elif "untied" in name:
        model = albert_tf.AlbertForMaskedLM(tiny_config(**changes))
    else:
        model = albert_tf.AlbertForSequenceClassification(tiny_config(**changes), 2)
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


def test_a_summary_reads_no_padding(tmp_path):
    left = ((0, 0), (2, 0))
    padded = {
        "input_ids": np.pad(IDS, left),
        "segment_ids": np.pad(SEGMENTS, left, constant_values=3),
        "input_mask": np.pad(np.ones_like(IDS), left),
    }
    for kind in ("first", "mean"):
        model = XLNetForSequenceClassification(_XLNET, num_labels=2, summary_type=kind)
        alone = model({"input_ids": IDS, "segment_ids": SEGMENTS})
        np.testing.assert_allclose(model(padded), alone, rtol=0, atol=1e-6)
        with pytest.raises(UserError, match="official XLNet has no other summary_t"):
            model.save_pretrained(tmp_path / kind, format="tf1")


_REFUSED = [
    ({"function_to_apply": "none"}, "sets function_to_apply to 'none', which"),
    ({"auto_map": {"AutoModel": "a.B"}}, "sets auto_map to .*take it out of the"),
    ({"quantization_config": {"bits": 4}}, "sets quantization_config to"),
    ({"pruned_heads": {"0": [1]}}, "sets pruned_heads to"),
    ({"is_decoder": True}, "sets is_decoder to True, expected False"),
    ({"sbert_ce_default_activation_function": "torch.nn.Sigmoid"}, "ies Sigmoid"),
    ({"sentence_transformers": {"activation_fn": "a.Softmax"}}, "applies Softmax"),
    ({"sentence_transformers": {"other": 1}}, "sets other to 1, which"),
]


@pytest.fixture
def foreign(tiny_config, tmp_path):
    """The path of the config.json of a directory, and its entries."""
    write(tmp_path, tiny_config, "eps")
    path = tmp_path / "config.json"
    return path, json.loads(path.read_text())


def test_what_is_not_followed(foreign):
    path, entries = foreign
    load = albert_tf.AlbertForSequenceClassification.from_pretrained
    for changes, message in _REFUSED:
        path.write_text(json.dumps({**entries, **changes}))
        with pytest.raises(UserError, match=message):
            load(path.parent)
    assert shown("a" * 58) == f"'{'a' * 58}'"
    assert shown("a" * 59) == f"'{'a' * 58}…"
    # Two numbers of a regression stay two numbers.
    path.write_text(json.dumps({**entries, "problem_type": "regression"}))
    model = load(path.parent)
    assert (model.label_kind, model.labels, model.num_labels) == ("regression", None, 2)
    assert model.task_info() is None
    model.save_pretrained(path.parent / "again", format="huggingface")
    again = json.loads((path.parent / "again" / "config.json").read_text())
    assert again["problem_type"] == "regression"


@pytest.mark.slow
def test_what_changes_no_answer(foreign):
    import transformers

    path, config = foreign
    load = albert_tf.AlbertForSequenceClassification.from_pretrained

    entries = transformers.BertConfig().to_dict()
    entries |= {"top_k": 50, "num_beams": 4, "task_specific_params": {"a": {"b": 1}}}
    entries |= {"torch_dtype": "float32", "_name_or_path": "x", "gap_size": 0}
    entries |= {"label2id": {"no": 0}, "unknown": None, "directionality": "bidi"}
    identity = "torch.nn.modules.linear.Identity"
    entries["sentence_transformers"] = {"activation_fn": identity, "version": "4.1"}
    path.write_text(json.dumps({**entries, **config}))
    load(path.parent)
    config["sentence_transformers"] = {"activation_fn": "torch.nn.Sigmoid"}
    config["problem_type"] = "multi_label_classification"
    path.write_text(json.dumps({**entries, **config}))
    assert load(path.parent).label_kind == "multi_label"


def test_adapters_and_programs(foreign, tmp_path):
    adapter = r"holds an adapter \({}\).* model.merge_and_unload\(\)"
    for name, message in (
        ("adapter_config.json", adapter),
        ("adapter_model.safetensors", adapter),
        ("pytorch_model.bin", r"as pytorch_model\.bin, .* write it with"),
    ):
        folder = tmp_path if name == "adapter_config.json" else tmp_path / name[:-4]
        folder.mkdir(exist_ok=True)
        (folder / "config.json").write_text("{}")
        (folder / name).write_text("{}")
        with pytest.raises(UserError, match=message.format(name)):
            albert_tf.AlbertModel.from_pretrained(folder)


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
