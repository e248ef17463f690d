"""The n-gram model that minimal pairs are measured against."""

import math

import pytest

from benchmarks.ngram_pairs import KneserNey


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
