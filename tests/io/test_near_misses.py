"""Names and paths that users mistype or know from other libraries."""

import numpy as np
import pytest

import albert_tf
from albert_tf.errors import UserError
from albert_tf.io.near_misses import did_you_mean
from albert_tf.tokenization.wordpiece import WordPieceTokenizer


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name in ("k99/model", "runs/base/model"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "k99" / "notes.txt").touch()
    (tmp_path / ".k98").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("path", "meant"),
    [
        ("k9/modle/", "k99/model"),
        ("runs/bases/mdel", "runs/base/model"),
        ("./k99/note.txt", "k99/notes.txt"),
        ("../x/k99/modle", None),
        ("k98", "k99"),
        ("k99/model", None),
        ("gs://bucket/modle", None),
    ],
)
def test_paths(folder, path, meant):
    assert did_you_mean(path) == (f"; did you mean {meant}?" if meant else "")
    if meant and not path.startswith("."):
        assert did_you_mean(f"{folder}/{path}") == f"; did you mean {folder}/{meant}?"


_PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "good", "film"]


@pytest.fixture(scope="module")
def tokenizer():
    return WordPieceTokenizer("\n".join(_PIECES).encode())


def test_names_of_the_package_and_of_a_tokenizer(tokenizer):
    with pytest.raises(AttributeError, match=r"use albert_tf.load_tokenizer\(path\)"):
        _ = albert_tf.AutoTokenizer
    with pytest.raises(AttributeError, match=r"use albert_tf.AlbertForMaskedLM\."):
        _ = albert_tf.DebertaV2ForMaskedLM
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        _ = albert_tf.nonsense
    assert (tokenizer.mask_token, tokenizer.mask_token_id) == ("[MASK]", 4)
    assert (tokenizer.pad_token, tokenizer.cls_token_id) == ("[PAD]", 2)
    assert tokenizer.all_special_ids == [0, 1, 2, 3, 4]
    ids = {piece: index for index, piece in enumerate(_PIECES)}
    assert tokenizer.vocab == tokenizer.get_vocab() == ids
    assert tokenizer.batch_decode([[5, 6], [2, 5]], True) == ["good film", "good"]
    assert not hasattr(tokenizer, "bos_token")


def test_arguments_of_a_tokenizer(tokenizer):
    expected = tokenizer("good", "film")
    found = tokenizer("good", text_pair="film", return_tensors="tf")
    for name, values in found.items():
        np.testing.assert_array_equal(values.numpy(), expected[name])
        assert values.dtype == "int32"
    cut = tokenizer("good film", max_length=3, truncation="longest_first")
    assert cut["input_ids"].tolist() == [[2, 5, 3]]
    cut = tokenizer("good film", "film film", max_length=6, truncation="only_second")
    assert cut["input_ids"].tolist() == [[2, 5, 6, 3, 6, 3]]
    for arguments, message in (
        ({"truncation": "only_second"}, "'only_second' leaves nothing of that text"),
        ({"truncation": "do_not_truncate"}, "max_length=3; pass truncation=True"),
        ({"nonsense": 1}, "The tokenizer takes no nonsense; it takes text_pairs, max"),
        ({"text_pairs": "a", "text_pair": "b"}, "are the same; give one"),
    ):
        with pytest.raises(UserError, match=message):
            tokenizer("good film", max_length=3, **arguments)


def test_calls_of_a_model(tokenizer, tiny_config):
    model = albert_tf.AlbertForSequenceClassification(tiny_config(), num_labels=2)
    ours = tokenizer(["good film", "good"])
    expected = model(ours)
    theirs = {"token_ids": ours["input_ids"], "padding_mask": ours["input_mask"]}
    for found in (
        model(**ours),
        model(ours["input_ids"], attention_mask=ours["input_mask"]),
        model(theirs),
    ):
        np.testing.assert_array_equal(found, expected)
    with pytest.raises(UserError, match="input_ids and token_ids are the same feature"):
        model(**ours, token_ids=ours["input_ids"])
    for call in (model, model.predict):
        with pytest.raises(UserError, match="takes ids of tokens, not texts: call"):
            call(["good"])


@pytest.mark.slow
def test_arguments_of_a_model(tiny_config, tmp_path):
    model_class = albert_tf.AlbertForSequenceClassification
    albert_tf.AlbertModel(tiny_config()).save_pretrained(tmp_path)
    config = {"num_labels": 2, "hidden_dropout_prob": 0.1}
    assert model_class.from_pretrained(tmp_path, **config).config.hidden_dropout_prob
    with pytest.raises(UserError, match="takes no revison; did you mean revision"):
        model_class.from_pretrained(tmp_path, revison="main")
    with pytest.raises(UserError, match=r"call of the model takes no trainin; did you"):
        model_class(tiny_config(), num_labels=2)({}, trainin=True)
    with pytest.raises(UserError, match="no max_length; did you mean max_seq_length"):
        albert_tf.TextEmbedder(tmp_path, max_length=16)
