"""The law of pairs: the texts A and B, and the label."""

import collections
import functools

import numpy as np
import pytest

from data_pipeline.sequences import instances
from data_pipeline.sequences.instances import PairingFlags
from data_pipeline.sequences.instances import Window
from data_pipeline.sequences.instances import make_instances

SEP = 3


def window(documents, word_every=1):
    """Makes a window of tokens 100, 101, …, of documents given by segment lengths."""
    lengths = [length for document in documents for length in document]
    count = sum(lengths)
    return Window(
        ids=np.arange(100, 100 + count, dtype=np.int32),
        word_starts=np.arange(count) % word_every == 0,
        segments=np.cumsum([0, *lengths]).tolist(),
        documents=np.cumsum([0, *map(len, documents)]).tolist(),
    )


options = functools.partial(PairingFlags, max_seq_length=13, short_seq_prob=0.0)


def test_pairs_are_swapped_and_split_by_fair_draws():
    rows, _ = make_instances(window([[4, 3, 3]] * 500), options(), SEP, 8, seed=1)
    assert len(rows) == 4000
    ends = collections.Counter((np.minimum(rows[:, 1], rows[:, 3]) % 10).tolist())
    assert set(ends) == {4, 7}
    assert abs(ends[4] / len(rows) - 0.5) < 0.03
    assert abs(rows[:, 4].mean() - 0.5) < 0.03
    for a_start, a_end, b_start, b_end, label in rows:
        if label:
            assert b_end == a_start
            a_start, b_end = b_start, a_end
        else:
            assert a_end == b_start
        assert a_start % 10 == 0
        assert b_end - a_start == 10


def test_chunks_close_when_they_reach_the_target():
    rows, counts = make_instances(window([[4] * 7]), options(), SEP, 1, seed=0)
    spans = sorted((min(r[0], r[2]), max(r[1], r[3])) for r in rows)
    # 4+4+4 reaches 10 and is cut to 10; the last chunk is a single sentence.
    assert len(spans) == 3
    assert counts["tokens truncated"] == 4
    assert counts["pairs cut from one sentence"] == 1
    assert spans[-1] == (24, 28)


@pytest.mark.parametrize("word_every", [1, 2])
def test_single_sentence_is_cut_between_words(word_every):
    text = window([[6]] * 300, word_every)
    rows, _ = make_instances(text, options(), SEP, 1, seed=0)
    middles = collections.Counter((np.minimum(rows[:, 1], rows[:, 3]) % 6).tolist())
    assert set(middles) == set(range(word_every, 6, word_every))
    assert abs(rows[:, 4].mean() - 0.5) < 0.1
    rows, counts = make_instances(window([[3]] * 4, 3), options(), SEP, 1, seed=0)
    assert (len(rows), counts) == (0, {"chunks of a single word": 4})


def test_official_sop_takes_a_random_document_for_a_single_sentence():
    text = window([[6]] * 20)
    rows, counts = make_instances(text, options(official_sop=True), SEP, 5, seed=0)
    assert counts["pairs from two documents"] == len(rows) == 100
    assert rows[:, 4].all()
    assert (rows[:, 0] // 6 != rows[:, 2] // 6).all()


def test_random_next_sentence():
    text = window([[5, 5, 5, 5]] * 50)
    rows, _ = make_instances(text, options(sentence_objective="nsp"), SEP, 10, seed=0)
    same = rows[:, 0] // 20 == rows[:, 2] // 20
    assert (same == (rows[:, 4] == 0)).all()
    in_order = rows[rows[:, 4] == 0]
    assert (in_order[:, 1] <= in_order[:, 2]).all()
    assert 0.4 < rows[:, 4].mean() < 0.6
    # Sentences that B displaced are used again: every first sentence is an A.
    assert {5, 10, 15} <= set((rows[:, 0] % 20).tolist())
    # A random text fills the row, to the end of its document.
    text = window([[1] * 20] * 50)
    rows, _ = make_instances(text, options(sentence_objective="nsp"), SEP, 10, seed=0)
    a_start, a_end, b_start, b_end, _ = rows[rows[:, 4] == 1].T
    left = 20 - b_start % 20
    assert (b_end - b_start == np.minimum(10 - (a_end - a_start), left)).all()
    # There may be no other document.
    text = window([[5, 5, 5, 5]])
    rows, counts = make_instances(text, options(sentence_objective="nsp"), SEP, 9, 0)
    assert counts["pairs from two documents"] == rows[:, 4].sum() > 0
    assert rows[:, :4].max() <= 20


# 3 and 8 tokens fit; a sentence of 30 is broken, and is begun again.
BROKEN = [(0, 11), (11, 22), (14, 25), (25, 36), (36, 47), (45, 50)]


@pytest.mark.parametrize(
    ("documents", "breaks", "across", "runs", "repeated", "truncated"),
    [
        ([[3, 2], [4], [5, 1]], False, True, [(0, 10), (11, 17)], 0, 0),
        ([[3, 2], [4], [5, 1]], False, False, [(0, 5), (5, 9), (9, 15)], 0, 0),
        ([[3, 8, 2], [30], [5]], True, True, BROKEN, 8 + 2, 0),
        # The separator alone does not fit: the sentence before it is not broken.
        ([[11], [4]], True, True, [(0, 11), (12, 16)], 0, 0),
        ([[8, 8], [4]], True, False, [(0, 11), (8, 16), (16, 20)], 3, 0),
        # Only what cannot fit is truncated.
        ([[40, 3, 3]], False, True, [(11, 22), (40, 46)], 0, 29),
    ],
)
def test_full_sentences(documents, breaks, across, runs, repeated, truncated):
    """They cross documents with a separator, or end with theirs."""
    flags = {"across_documents": across, "break_sentences": breaks}
    text = window(documents)
    if across:
        text = instances.join_documents(text, SEP)
        ends = np.cumsum([sum(document) + 1 for document in documents])
        assert np.flatnonzero(text.ids == SEP).tolist() == (ends - 1).tolist()
        assert text.ids[text.ids != SEP].tolist() == window(documents).ids.tolist()
    chosen = options(sentence_objective="none", **flags)
    rows, counts = make_instances(text, chosen, SEP, 1, seed=0)
    assert sorted(map(tuple, rows[:, :2].tolist())) == runs
    assert not rows[:, 4].any()
    assert counts["tokens repeated"] == repeated
    assert counts["tokens truncated"] == truncated


def test_short_sequences():
    text = window([[1] * 100] * 200)
    rows, _ = make_instances(text, options(short_seq_prob=0.3), SEP, 1, seed=0)
    lengths = (rows[:, 1] - rows[:, 0]) + (rows[:, 3] - rows[:, 2])
    assert lengths.min() == 2
    pairs = np.bincount(np.minimum(rows[:, 0], rows[:, 2]) // 100)
    long_documents = (pairs == 10).mean()
    # Target 10 is also one of the nine short ones.
    assert abs(long_documents - (0.7 + 0.3 / 9)) < 0.1


@pytest.mark.parametrize("limit", [2, 9, 10])
def test_truncated_lengths_equal_the_official_loop(limit):
    for a in range(1, 25):
        for b in range(1, 25):
            expected = [a, b]
            while sum(expected) > limit:
                expected[0 if expected[0] > expected[1] else 1] -= 1
            assert instances.truncated_lengths(a, b, limit) == tuple(expected)


def test_truncation_takes_from_both_ends_alike():
    rows, _ = make_instances(
        window([[30, 30]] * 4000), options(max_seq_length=43), SEP, 1, seed=0
    )
    first = rows[rows[:, 4] == 0]
    front = first[:, 0] % 60
    assert (first[:, 1] - first[:, 0] == 20).all()
    assert abs(front.mean() - 5) < 0.15
    assert abs(front.var() - 2.5) < 0.3
