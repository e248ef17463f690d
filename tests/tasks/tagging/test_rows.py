"""Sentences as windows of ids: first pieces, overlap, and the way back to words."""

import numpy as np
import pytest

from albert_tf.tasks.batching import training_dataset
from albert_tf.tasks.registry import create_task
from albert_tf.tasks.tagging.rows import tokenize_sentences
from albert_tf.tasks.tagging.sentences import TagFile
from albert_tf.tasks.tagging.sentences import sentence_of_words
from albert_tf.tasks.tagging.sentences import word_bounds
from albert_tf.tasks.tokenized_examples import cached_tokens

_LABELS = ("O", "B-PER", "I-PER", "B-LOC", "I-LOC")


def sentence(text, tags=None):
    return sentence_of_words("here", text.split(), tags and tags.split(), None)


def pieces(tokens, tokenizer):
    return [
        " ".join(tokenizer.pieces[i] for i in tokens.ids[start : start + length])
        for start, length in zip(tokens.starts, tokens.lengths, strict=True)
    ]


def test_windows_overlap_and_lose_nothing(words):
    sentences = [
        sentence("kurt met ada in new york ."),
        sentence("\u200b"),
        sentence("a"),
    ]
    tokens = tokenize_sentences(sentences, words, 7, 3)
    assert pieces(tokens, words) == [
        "[CLS] ku ##rt met ada in [SEP]",
        "[CLS] ada in new yo ##rk [SEP]",
        "[CLS] yo ##rk . [SEP]",
        "[CLS] [SEP]",
        "[CLS] a [SEP]",
    ]
    np.testing.assert_array_equal(tokens.first_lengths, tokens.lengths)
    # The first piece of each word: kurt 0, met 1, ada 2, in 3, new 4, york 5, "." 6.
    first = [0, -1, 1, 2, 3], [2, 3, 4, 5, -1], [5, -1, 6], [], [8]
    assert tokens.words.tolist() == [w for row in first for w in (-1, *row, -1)]
    # Each word is seen best once, if it has a token.
    seen = tokens.words[tokens.is_max_context]
    assert sorted(seen[seen >= 0]) == [0, 1, 2, 3, 4, 5, 6, 8]
    outputs = np.zeros((5, 7, 1))
    outputs[:, :, 0] = 10 * np.arange(5)[:, None] + np.arange(7)  # window and place
    found, has_token = tokens.of_words(outputs, 9)
    assert found[:, 0].tolist() == [1, 3, 4, 12, 13, 14, 23, 0, 41]
    assert has_token.tolist() == [True] * 7 + [False, True]


def test_each_word_is_tokenized_by_itself(english):
    one, other = sentence("U.N. officials , in Oslo"), sentence("北 京 Oslo")
    tokens = tokenize_sentences([one, other], english, 32, 16)
    rows = np.split(tokens.ids, tokens.starts[1:])
    for text, row in zip((one, other), rows, strict=True):
        ids = [i for word in text.words for i in english.encode(word)]
        assert row.tolist() == [english.cls_id, *ids, english.sep_id]


def test_labels_are_those_of_first_pieces(words, tmp_path):
    task = create_task("tagging", "custom", labels=_LABELS, doc_stride=3)
    texts = ("kurt met ada in new york", "B-PER O B-PER O B-LOC I-LOC"), ("a", "O")
    examples = TagFile("file", tuple(sentence(*text) for text in texts), "conll")
    first, again = (cached_tokens(task, examples, words, 7, tmp_path) for _ in "ab")
    np.testing.assert_array_equal(first.labels, again.labels)
    rows = np.split(first.labels, first.starts[1:])
    assert [row.tolist() for row in rows] == [
        [-1, 1, -1, 0, 1, 0, -1],
        [-1, 1, 0, 3, 4, -1, -1],
        [-1, 0, -1],
    ]
    dataset = training_dataset(first, 3, 8, seed=1, repeat=False, buckets=(8,))
    [batch] = dataset
    assert batch["labels"].shape == batch["input_ids"].shape == (3, 8)
    assert sorted(batch["labels"].numpy().sum(axis=1).tolist()) == [-7, -2, 4]
    assert not batch["segment_ids"].numpy().any()
    loss = task.objective().terms[0]
    logits = np.zeros((3, 8, 5), np.float32)
    total, metrics = loss.sums(logits, batch)
    assert float(total) == pytest.approx(9 * np.log(5), rel=1e-6)
    assert [float(value) for value in metrics["accuracy"]] == [4, 9]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"labels": "O"}, "the tags are 'O', expected a list of texts"),
        ({"labels": ["B-A", "I-A"]}, "expected O and others, no repeats"),
        ({"labels": ["O"], "scheme": "io"}, "'io', expected one of iob2, iob1, bioes"),
        ({"labels": ["O"], "decoder": 1}, "decoder is 1, expected one of greedy, "),
        ({"labels": ["O"], "doc_stride": 0}, "doc_stride is 0, expected a positive"),
    ],
)
def test_what_training_info_may_not_say(fields, message):
    with pytest.raises(ValueError, match=message):
        create_task("tagging", "custom", **fields)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ada met Alan.", "Ada|met|Alan|."),
        ("(U.S., it's 1,000!)", "(|U.S|.|,|it's|1,000|!|)"),
        ("...", ".|.|."),
        ("我在New York，北京。", "我|在|New|York|，|北|京|。"),
        (" \u3000 ", ""),
    ],
)
def test_words_of_a_text(text, expected):
    found = "|".join(text[first:end] for first, end in word_bounds(text))
    assert found == expected
