"""Names and paths that users mistype or know from other libraries."""

import keras
import numpy as np
import pytest

import albert_tf
from albert_tf.errors import UserError
from albert_tf.errors import shortened
from albert_tf.io.near_misses import did_you_mean
from albert_tf.tokenization.wordpiece import WordPieceTokenizer


@pytest.mark.parametrize(
    ("path", "meant"),
    [
        ("k9/modle/", "k99/model"),
        ("runs/bases/mdel", "runs/base/model"),
        ("./k99/note.txt", "k99/notes.txt"),
        ("../x/k99/modle", None),
        ("k98", "k99"),
        ("k99/notes.txt/x", None),
        ("k99/notes.txt/../modle", "k99/model"),
        ("k99/model", None),
        ("gs://bucket/modle", None),
    ],
)
def test_paths(path, meant, tmp_path, monkeypatch):
    for name in ("k99/model", "runs/base/model", ".k98"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "k99" / "notes.txt").touch()
    monkeypatch.chdir(tmp_path)
    assert did_you_mean(path) == (f"; did you mean {meant}?" if meant else "")
    if meant and not path.startswith("."):
        found = did_you_mean(f"{tmp_path}/{path}")
        assert found == f"; did you mean {tmp_path}/{meant}?"


_PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "good", "film"]


@pytest.fixture(scope="module")
def tokenizer():
    return WordPieceTokenizer("\n".join(_PIECES).encode())


def test_names_of_the_package_and_of_a_tokenizer(tokenizer):
    for name, message in (
        ("AutoTokenizer", r"use albert_tf.load_tokenizer\(path\)"),
        ("DebertaV2ForMaskedLM", r"use albert_tf.AlbertForMaskedLM\."),
        ("nonsense", "has no attribute 'nonsense'"),
    ):
        with pytest.raises(AttributeError, match=message):
            getattr(albert_tf, name)
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
    texts = ["good", *["good film film"] * 2], ["film"] * 3
    with pytest.raises(UserError, match=r"texts\[1\]: trunc.* 3 tokens of the other"):
        tokenizer(*texts, max_length=6, truncation="only_second")
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
    ids, mask, expected = ours["input_ids"], ours["input_mask"], model(ours)
    for found in (
        model(**ours),
        model(ids, attention_mask=mask),
        model({"token_ids": ids, "padding_mask": mask}),
    ):
        np.testing.assert_array_equal(found, expected)
    for call, message in (
        (lambda: model(**ours, token_ids=ids), "input_ids and token_ids are the same"),
        (lambda: model(["good"]), "takes ids of tokens, not texts: call"),
        (lambda: model.predict(["good"]), "takes ids of tokens, not texts: call"),
        (lambda: model({}, trainin=True), "the model takes no trainin; did you"),
    ):
        with pytest.raises(UserError, match=message):
            call()


@pytest.mark.slow
def test_arguments_of_a_model(tiny_config, tmp_path):
    read = albert_tf.AlbertForSequenceClassification.from_pretrained
    albert_tf.AlbertModel(tiny_config()).save_pretrained(tmp_path)
    model = read(tmp_path, num_labels=2, hidden_dropout_prob=0.1)
    assert model.config.hidden_dropout_prob == 0.1
    with pytest.raises(UserError, match="takes no revison; did you mean revision"):
        read(tmp_path, revison="main")
    with pytest.raises(UserError, match="no max_length; did you mean max_seq_length"):
        albert_tf.TextEmbedder(tmp_path, max_length=16)


class Refusing(keras.layers.Layer):
    """Accepts nothing."""

    def call(self, inputs):
        raise UserError("The input is too long.")


def test_keras_adds_nothing_to_a_sentence_and_many_names_are_counted():
    with pytest.raises(UserError) as error:
        Refusing()(keras.ops.ones([1, 2]))
    assert str(error.value) == "The input is too long."
    found = [shortened([*"abcdefg"[:number]]) for number in (1, 5, 6)]
    assert found == ["a", "a, b, c, d, e", "a, b, c, d, e and 1 more"]
