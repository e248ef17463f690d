"""The n-gram model that minimal pairs are measured against."""

import itertools
import math

import pytest

from benchmarks.ngram_pairs import KneserNey

_TEXT = [s.split() for s in ("a b a b", "a b b", "b a a", "c a b", "b")]


@pytest.mark.parametrize("order", [2, 3])
def test_probabilities_of_the_next_word_sum_to_one(order):
    model = KneserNey(_TEXT, order)
    numbers = [0, *range(2, 5)]  # the unknown word, the end, a and b
    for context in itertools.product(range(5), repeat=order - 1):
        shares = [model._probability((*context, number)) for number in numbers]
        assert sum(shares) == pytest.approx(1)
        assert min(shares) > 0


def test_a_bigram_by_hand():
    model = KneserNey([["a", "b"], ["a", "b"], ["a", "a"]], 2)
    # Bigrams: begin a 3, a b 2, b end 2, a a 1, a end 1; one discount: 2 / (2 + 2 * 2).
    discount = 2 / 6
    # By the words before them: a 2, b 1, end 2; discount 1 / (1 + 2 * 2).
    of_one = 1 / 5
    b = (1 - of_one + of_one * 3 / 4) / 5
    after_a = (2 - discount + discount * 3 * b) / 4
    begin_a = (3 - discount + discount * ((2 - of_one + of_one * 3 / 4) / 5)) / 3
    end = (2 - discount + discount * ((2 - of_one + of_one * 3 / 4) / 5)) / 2
    expected = math.log(begin_a * after_a * end)
    assert model.score(["a", "b"]) == pytest.approx(expected)
