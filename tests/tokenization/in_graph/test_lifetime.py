"""A tokenizer in a graph outlives whatever clears TensorFlow's caches."""

import keras
import pytest
import tensorflow as tf

from albert_tf.tokenization.in_graph.tokenizer import InGraphTokenizer
from albert_tf.tokenization.sentencepiece import SentencePieceTokenizer
from albert_tf.tokenization.wordpiece import WordPieceTokenizer
from tests.tokenization.in_graph.graphs import traced
from tests.vocabularies import tie_pieces
from tests.vocabularies import wordpiece

pytestmark = pytest.mark.slow
TEXTS = ["aabb <mask> eee\0" + "the" * 99, "acgt"]


def clear():
    keras.utils.set_random_seed(1)
    keras.utils.clear_session()


@pytest.fixture(params=["sentencepiece", "wordpiece", "byte_bpe"])
def tokenizer(request, small_bpe):
    if request.param == "byte_bpe":
        return small_bpe
    if request.param == "sentencepiece":
        return SentencePieceTokenizer(tie_pieces())
    return WordPieceTokenizer(wordpiece(["a", "##a", "##b", "e"]).encode())


def test_it_answers_after_caches_were_cleared(tokenizer):
    in_graph = InGraphTokenizer(tokenizer)
    graph = traced(in_graph.with_offsets)
    twins = [InGraphTokenizer(tokenizer)]
    expected = tokenizer.encode_batch(TEXTS)
    for _ in range(2):
        assert in_graph(tf.constant(TEXTS)).to_list() == expected
        assert graph(tf.constant(TEXTS))[0].to_list() == expected
        assert [t(tf.constant(TEXTS)).to_list() for t in twins] in ([], [expected])
        twins.clear()
        clear()


def test_an_export_answers_after_caches_were_cleared(tokenizer, tmp_path):
    module = tf.Module()
    module.tokenizer = InGraphTokenizer(tokenizer)
    signature = traced(lambda text: {"ids": module.tokenizer(text).to_tensor()})
    tf.saved_model.save(module, tmp_path, signatures=signature)
    if tokenizer.kind == "sentencepiece":  # it holds its model once
        stored = (tmp_path / "saved_model.pb").read_bytes()
        assert stored.count(tokenizer.file_bytes) == 1
    loaded = tf.saved_model.load(tmp_path)
    others = [tf.saved_model.load(tmp_path)]
    for _ in range(2):
        ids = loaded.signatures["serving_default"](tf.constant(TEXTS[:1]))["ids"]
        assert ids.numpy().tolist() == [tokenizer.encode(TEXTS[0])]
        others.clear()
        clear()
