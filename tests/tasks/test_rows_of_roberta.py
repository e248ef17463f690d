"""Rows of two separators and one segment, in Python and inside a graph."""

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.tasks.multiple_choice.questions import Question
from albert_tf.tasks.multiple_choice.rows import tokenize_questions
from albert_tf.tasks.multiple_choice.serving import ChoiceFeatures
from albert_tf.tasks.tagging.in_graph_entities import RowFeatures
from albert_tf.tasks.tagging.rows import tokenize_sentences
from albert_tf.tasks.tagging.sentences import Sentence
from albert_tf.tasks.tokenized_examples import from_features
from albert_tf.tasks.tokenized_examples import tokenize_texts
from albert_tf.tokenization import load_tokenizer
from albert_tf.tokenization.in_graph.features import MaskedTextFeatures
from albert_tf.tokenization.in_graph.features import TextFeatures
from albert_tf.tokenization.in_graph.features import mark_of
from tests.vocabularies import byte_bpe


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    folder = tmp_path_factory.mktemp("vocabulary")
    byte_bpe(folder)
    return load_tokenizer(folder)


def _row(examples, index=0):
    start = np.ravel(examples.starts)[index]
    return examples.ids[start : start + np.ravel(examples.lengths)[index]].tolist()


@pytest.mark.parametrize("length", [40, 12])
def test_pairs(tokenizer, length):
    texts, pairs = ["the cat sat on the mat", "a"], ["the dog barked", ""]
    examples = tokenize_texts(texts, pairs, tokenizer, length)
    expected = tokenizer(texts, pairs, max_length=length, padding=False)
    assert [_row(examples, i) for i in (0, 1)] == expected["input_ids"]
    assert (examples.layout, examples.pad_id) == (tokenizer.layout, 1)
    again = from_features(expected, tokenizer)
    assert (again.layout, again.pad_id) == (tokenizer.layout, 1)
    found = TextFeatures(tokenizer, length)(tf.constant(texts), tf.constant(pairs))
    expected = tokenizer(texts, pairs, max_length=length)
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array)


def test_choices(tokenizer):
    question = Question("1", "the cat the dog", "it _", ("sat", "barked"), 0)
    examples = tokenize_questions([question], tokenizer, 30, 10)
    a, b = (tokenizer.encode(text) for text in ("the cat the dog", "it sat"))
    assert _row(examples) == [0, *a, 2, 2, *b, 2]
    found = ChoiceFeatures(tokenizer, 30, 10)(
        tf.constant(["it _"]),
        tf.constant(["the cat the dog"]),
        tf.constant([["sat", "barked"]]),
    )
    assert found["input_ids"][0, 0].numpy().tolist()[: len(a) + len(b) + 4] == (
        _row(examples)
    )
    assert not np.any(found["segment_ids"])


def test_words_have_the_space_before_them(tokenizer):
    words = ("the", "cat", "didn't")
    sentence = Sentence("1", " ".join(words), ((0, 3), (4, 7), (8, 14)))
    examples = tokenize_sentences([sentence], tokenizer, 30, 10)
    pieces = [i for word in words for i in tokenizer.encode(f" {word}")]
    assert _row(examples) == [0, *pieces, 2]
    found = RowFeatures(tokenizer, 30, 10)(tf.constant(["the cat didn't"]))
    assert found["input_ids"][0].numpy().tolist() == [0, *pieces, 2]


def test_masks_in_a_graph(tokenizer):
    features = MaskedTextFeatures(tokenizer, 30)
    assert mark_of(tokenizer) == "<mask>"
    texts = ["the cat <mask> on the <mask>", "a <mask>"]
    found = features(tf.constant(texts))
    expected = tokenizer(texts)
    np.testing.assert_array_equal(found["input_ids"], expected["input_ids"])
    places = np.flatnonzero(expected["input_ids"][0] == tokenizer.mask_id)
    assert found["masked_lm_positions"][0].numpy().tolist() == places.tolist()
