"""Directories of sentence-transformers: read and written."""

import json

import numpy as np
import pytest

import albert_tf
from albert_tf.checkpoints.sentence_transformers import check_activation
from albert_tf.checkpoints.sentence_transformers import pooling_files
from albert_tf.checkpoints.sentence_transformers import read_settings
from albert_tf.errors import UserError
from albert_tf.models.albert import AlbertModel
from albert_tf.models.text_embedding import AlbertForTextEmbedding
from albert_tf.serving.predictor import Predictor
from albert_tf.tokenization.wordpiece import WordPieceTokenizer
from albert_tf.xlnet.heads import XLNetForTextEmbedding

_WORDS = ["sun", "moon", "the", "a", "is", "big"]
_TEXTS = ["the sun is big", "moon", "a moon is the sun the moon is big is the sun big"]
_SETTINGS = "config_sentence_transformers.json"
_LENGTH = "sentence_bert_config.json"
_TYPE = "sentence_transformers.models."
_KINDS = ("Transformer", "Pooling", "Normalize")


@pytest.fixture
def tokenizer(vocabulary):
    return WordPieceTokenizer(vocabulary(_WORDS).encode(), True)


@pytest.fixture
def theirs(tiny_config, tokenizer, tmp_path):
    """Writes a directory as theirs, of an encoder with a pooling and modules."""

    def write(pooling="pooling_mode_mean_tokens", kinds=_KINDS, length=7, **entries):
        encoder = AlbertModel(tiny_config(vocab_size=tokenizer.vocab_size))
        encoder.save_pretrained(tmp_path, tokenizer, format="huggingface")
        names = {"Pooling": "1_Pooling", "Normalize": "2_Normalize"}
        modules = [
            {"type": _TYPE + kind, "path": names.get(kind, "")} for kind in kinds
        ]
        (tmp_path / "modules.json").write_text(json.dumps(modules))
        (tmp_path / "1_Pooling").mkdir()
        modes = {"word_embedding_dimension": 12, pooling: True}
        (tmp_path / "1_Pooling" / "config.json").write_text(json.dumps(modes))
        sizes = {"max_seq_length": length, **entries}
        (tmp_path / _LENGTH).write_text(json.dumps(sizes))
        return encoder

    return write


@pytest.mark.slow
def test_read(theirs, tokenizer, tmp_path):
    hidden = theirs()(tokenizer(_TEXTS[:2]))["sequence_output"].numpy()
    expected = np.stack([hidden[0].mean(0), hidden[1, :3].mean(0)])
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    embedder = albert_tf.TextEmbedder(tmp_path)
    np.testing.assert_allclose(embedder.encode(_TEXTS[:2]), expected, atol=1e-5)
    # Its longest text has 7 tokens, here and where it is served.
    short = embedder.encode(" ".join(_TEXTS[2].split()[:5]))
    np.testing.assert_allclose(embedder.encode(_TEXTS[2]), short, atol=1e-6)
    served = Predictor(tmp_path)
    np.testing.assert_allclose(served(_TEXTS[2])["embedding"], short, atol=1e-5)
    # The encoder alone is read as ever.
    assert AlbertModel.from_pretrained(tmp_path).load_report.new == ()


def test_first_token_and_no_normalisation(theirs, tokenizer, tmp_path):
    encoder = theirs("pooling_mode_cls_token", _KINDS[:2])
    expected = encoder(tokenizer(_TEXTS[:2]))["sequence_output"][:, 0]
    found = AlbertForTextEmbedding.from_pretrained(tmp_path)
    assert not found.normalize
    np.testing.assert_allclose(found(tokenizer(_TEXTS[:2])), expected, atol=1e-6)
    # The longest row is known without a task, and saved again.
    folder = tmp_path
    for name in ("first", "second"):
        model = AlbertForTextEmbedding.from_pretrained(folder)
        assert model.task_info() == {"max_seq_length": 7}
        folder = tmp_path / name
        model.save_pretrained(folder, tokenizer)

    # As later versions write.
    (tmp_path / "1_Pooling" / "config.json").write_text('{"pooling_mode": "cls"}')
    (tmp_path / _LENGTH).unlink()
    path = tmp_path / "tokenizer_config.json"
    settings = {**json.loads(path.read_text()), "model_max_length": 7}
    (tmp_path / "SHA256SUMS").unlink()
    path.write_text(json.dumps(settings))
    model = AlbertForTextEmbedding.from_pretrained(tmp_path)
    assert model.pooling == "cls"
    assert model.task_info() == {"max_seq_length": 7}


@pytest.mark.slow
def test_written_and_read_again(theirs, tokenizer, tmp_path):
    theirs()
    for chosen in ("mean", "cls"):  # the second one over the first
        model = AlbertForTextEmbedding.from_pretrained(tmp_path, pooling=chosen)
        model.save_pretrained(tmp_path / "again", tokenizer, format="huggingface")
    modules = json.loads((tmp_path / "again" / "modules.json").read_text())
    assert [own["type"].rpartition(".")[2] for own in modules] == list(_KINDS)
    config = json.loads((tmp_path / "again" / "config.json").read_text())
    assert config["architectures"] == ["AlbertModel"]
    for form in ("huggingface", "model_directory"):
        model.save_pretrained(tmp_path / "again", tokenizer, format=form)
        # As another form, it leaves none of theirs behind.
        is_theirs = form == "huggingface"
        assert (tmp_path / "again" / "modules.json").exists() == is_theirs
        again = AlbertForTextEmbedding.from_pretrained(tmp_path / "again")
        assert again.head_config() == model.head_config()
        assert again.task_info() == {"max_seq_length": 7}
        rows = tokenizer(_TEXTS)
        np.testing.assert_array_equal(again(rows), model(rows))


def test_xlnet_pools_its_last_token(xlnet_config, xlnet_tokenizer, tmp_path):
    model = XLNetForTextEmbedding(xlnet_config(d_head=8), "cls")
    model.save_pretrained(tmp_path, xlnet_tokenizer, format="huggingface")
    modes = json.loads((tmp_path / "1_Pooling" / "config.json").read_text())
    assert modes["pooling_mode_lasttoken"] and not modes["pooling_mode_cls_token"]
    again = XLNetForTextEmbedding.from_pretrained(tmp_path)
    assert again.pooling == "cls"
    features = xlnet_tokenizer(["a good film"])
    np.testing.assert_allclose(again(features), model(features), atol=1e-6)


_UNKNOWN = {"prompts": {"query": "query: "}, "default_prompt_name": "quary"}
_POOLING, _NORMALIZE = "1_Pooling/config.json", "2_Normalize/config.json"


@pytest.mark.parametrize(
    ("what", "value", "message"),
    [
        ("pooling", "pooling_mode_max_tokens", "the pooling .'pooling_mode_max_tok"),
        ("kinds", (*_KINDS[:2], "Dense"), "modules Transformer, Pooling, Dense; ex"),
        ("do_lower_case", True, "sets do_lower_case, which is the tokenizer's to do"),
        ("query_length", 32, "sets query_length to 32"),
        ("modules.json", [1], "modules"),
        (_SETTINGS, {"truncate_dim": 8}, "sets truncate_dim to 8"),
        (_SETTINGS, {"similarity_fn_name": "l2"}, "expected 'cosine' or 'dot'"),
        (_SETTINGS, _UNKNOWN, r"default_prompt_name='quary': expected one of the prom"),
        (_POOLING, {"weights": "x"}, "sets weights to 'x'"),
        (_NORMALIZE, {"module_input_name": "a"}, "'sentence_embedding'"),
    ],
)
def test_what_is_not_followed(theirs, tmp_path, what, value, message):
    is_file = what.endswith(".json")
    theirs(**({} if is_file else {what: value}))
    (tmp_path / "2_Normalize").mkdir()
    if is_file:
        value = {"pooling_mode": "mean", **value} if what == _POOLING else value
        (tmp_path / what).write_text(json.dumps(value))
    with pytest.raises(UserError, match=message):
        albert_tf.TextEmbedder(tmp_path)


def test_settings_that_change_nothing(theirs, tmp_path):
    text = {"method": "forward", "method_output_name": "last_hidden_state"}
    encoder = {
        "modality_config": {"text": text},
        "transformer_task": "feature-extraction",
    }
    theirs(**encoder, module_output_name="token_embeddings")
    settings = {
        "model_type": "SentenceTransformer",
        "truncate_dim": None,
        "prompts": {"document": "", "query": "query: "},
        "default_prompt_name": "document",
        "__version__": {"sentence_transformers": "6.2.0"},
        "similarity_fn_name": "dot",
    }  # of vectors of length 1
    (tmp_path / _SETTINGS).write_text(json.dumps(settings))
    pooling = {
        "embedding_dimension": 12,
        "include_prompt": True,
        "pooling_mode": "mean",
    }
    (tmp_path / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
    assert albert_tf.TextEmbedder(tmp_path).model.pooling == "mean"
    path = tmp_path / "modules.json"
    path.write_text(path.read_text().replace("sentence_transformers.models", "own"))
    with pytest.raises(UserError, match="the module own.Transformer, a program of its"):
        albert_tf.TextEmbedder(tmp_path)


def test_files_that_are_written():
    names = ("", "1_Pooling", "2_Normalize")
    modules = [
        {"idx": place, "name": str(place), "path": name, "type": _TYPE + kind}
        for place, (name, kind) in enumerate(zip(names, _KINDS, strict=True))
    ]
    modes = ("mean_tokens", "cls_token", "lasttoken")
    flags = {f"pooling_mode_{mode}": False for mode in modes}
    flags["word_embedding_dimension"] = 12
    assert pooling_files("mean", True, 12, True) == {
        "modules.json": modules,
        _POOLING: {**flags, "pooling_mode_mean_tokens": True},
    }
    assert pooling_files("cls", False, 12, False, None, {}) == {
        "modules.json": modules[:2],
        _POOLING: {**flags, "pooling_mode_cls_token": True},
    }
    prompted = {"prompts": {"query": "q: "}, "include_prompt": False}
    assert pooling_files("cls", False, 12, True, 7, prompted) == {
        "modules.json": modules[:2],
        _POOLING: {**flags, "pooling_mode_lasttoken": True, "include_prompt": False},
        _LENGTH: {"max_seq_length": 7, "do_lower_case": False},
        _SETTINGS: {"prompts": {"query": "q: "}, "similarity_fn_name": "cosine"},
    }
    with pytest.raises(UserError, match="pooling 'pooler'; save with pooling mean or"):
        pooling_files("pooler", False, 12, False)


_CROSS = {"model_type": "CrossEncoder"}
_ONE_LABEL, _TWO_LABELS = ({"id2label": dict.fromkeys(ids, "a")} for ids in ("0", "01"))
_MULTI_LABEL = {"problem_type": "multi_label_classification"}


@pytest.mark.parametrize(
    ("entries", "settings", "name", "is_refused"),
    [
        ({}, {}, None, False),
        (_ONE_LABEL, {"model_type": "SentenceTransformer"}, None, False),
        (_ONE_LABEL, _CROSS, "Sigmoid", False),
        (_TWO_LABELS, _CROSS, "Identity", False),
        ({}, _CROSS, "Identity", False),
        (
            {"sbert_ce_default_activation_function": "torch.nn.Sigmoid", **_TWO_LABELS},
            {},
            *("Sigmoid", True),
        ),
        ({**_MULTI_LABEL}, {"activation_fn": "a.Sigmoid"}, "Sigmoid", False),
        ({**_MULTI_LABEL}, {"activation_fn": "a.Tanh"}, "Tanh", True),
        ({"sentence_transformers": {"activation_fn": "a.B"}}, {}, "B", True),
        (
            {"sentence_transformers": {"activation_fn": "a.B"}},
            {"activation_fn": "a.Identity"},
            *("Identity", False),
        ),
    ],
)
def test_functions_of_cross_encoders(entries, settings, name, is_refused, tmp_path):
    (tmp_path / _SETTINGS).write_text(json.dumps(settings))
    (tmp_path / _LENGTH).write_text('{"max_seq_length": 9}')
    found = read_settings(tmp_path, entries, False)
    # Only a cross-encoder's, or that of vectors, is the length of a row.
    assert found == {"activation": name, **({"longest_text": 9} if name else {})}
    if not is_refused:
        check_activation({**entries, **found})
        return
    with pytest.raises(UserError, match=f"The cross-encoder applies {name} to its"):
        check_activation({**entries, **found})


@pytest.mark.parametrize(
    ("module", "tokenizer_config", "longest"),
    [
        ({"max_seq_length": 7}, {"model_max_length": 9}, 7),
        ({"max_seq_length": None}, {"model_max_length": 9}, 9),
        ({}, {"model_max_length": 999_999}, 999_999),
        ({}, {"model_max_length": 10**6}, None),  # none, as transformers writes it
        ({"max_seq_length": True}, {}, None),
    ],
)
def test_the_longest_row(module, tokenizer_config, longest, tmp_path):
    for name, values in (
        (_SETTINGS, _CROSS),
        (_LENGTH, module),
        ("tokenizer_config.json", tokenizer_config),
    ):
        (tmp_path / name).write_text(json.dumps(values))
    assert read_settings(tmp_path, {}, False).get("longest_text") == longest


def test_a_cross_encoder_of_version_6(tiny_config, tmp_path):
    model = albert_tf.AlbertForSequenceClassification(tiny_config(), num_labels=1)
    model.save_pretrained(tmp_path, format="huggingface")
    kind = "sentence_transformers.base.modules.transformer.Transformer"
    (tmp_path / "modules.json").write_text(json.dumps([{"type": kind, "path": ""}]))
    task = {"transformer_task": "sequence-classification"}
    (tmp_path / _LENGTH).write_text(json.dumps(task))
    settings = {"model_type": "CrossEncoder"}
    kinds = {None: "multi_label", "Sigmoid": "multi_label", "Identity": "regression"}
    for name, kind in kinds.items():
        told = {"activation_fn": f"torch.nn.{name}"} if name else {}
        (tmp_path / _SETTINGS).write_text(json.dumps({**settings, **told}))
        assert type(model).from_pretrained(tmp_path).label_kind == kind
    told = {"activation_fn": "torch.nn.Tanh"}
    (tmp_path / _SETTINGS).write_text(json.dumps({**settings, **told}))
    with pytest.raises(UserError, match="The cross-encoder applies Tanh"):
        type(model).from_pretrained(tmp_path)
