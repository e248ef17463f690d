"""Yardstick of minimal pairs: an n-gram model of the same text as the models'.

  python -m benchmarks.ngram_pairs --input_file=wikipedia.txt --pairs_file=blimp \\
      --order=5 --pairs_per_set=150

Interpolated Kneser-Ney smoothing with a discount for each order (Chen and Goodman,
"An Empirical Study of Smoothing Techniques for Language Modeling", 1998, section 4.1.6)
of words in small letters and of punctuation, sentence by sentence. Words that the text
has only once are one unknown word. A sentence of a pair is scored by the logarithm of
its probability; the accuracies are those of `albert-tf minimal-pairs`.
"""

import collections
import dataclasses
import math
import re

from albert_tf.cli import command_line
from albert_tf.cli.command_line import option
from albert_tf.inference.minimal_pairs import accuracies
from albert_tf.inference.minimal_pairs import read_pairs
from data_pipeline.text.corpus import split_sentences

_TOKEN = re.compile(r"\w+|[^\w\s]")
_UNKNOWN, _BEGIN, _END = range(3)


@dataclasses.dataclass(frozen=True)
class Options:
    """The flags of `python -m benchmarks.ngram_pairs`."""

    input_file: str = option("Text to learn from, a paragraph a line.")
    pairs_file: str = option("Table of pairs, or a folder of such tables.")
    order: int = option("Number of words in the longest n-gram.", 3, minimum=2)
    pairs_per_set: int | None = option(
        "Score only so many pairs of each set; all by default.", None, minimum=1
    )


class KneserNey:
    """An interpolated n-gram model."""

    def __init__(self, sentences, order):
        counts = collections.Counter(w for words in sentences for w in words)
        known = sorted(w for w, count in counts.items() if count > 1)
        self._numbers = {word: _END + 1 + i for i, word in enumerate(known)}
        self._order = order
        grams = collections.Counter()
        for words in sentences:
            ids = self._padded(words)
            grams.update(
                tuple(ids[i - order + 1 : i + 1]) for i in range(order - 1, len(ids))
            )
        self._levels = []
        while grams and len(next(iter(grams))) > 0:
            self._levels.append(_Level(grams))
            # Of shorter ones, the number of words before them counts.
            grams = collections.Counter(gram[1:] for gram in grams)

    def score(self, words):
        """Returns the natural logarithm of a sentence's probability, with its end."""
        ids = self._padded(words)
        places = range(self._order - 1, len(ids))
        return sum(
            math.log(self._probability(tuple(ids[i - self._order + 1 : i + 1])))
            for i in places
        )

    def _padded(self, words):
        ids = [self._numbers.get(word, _UNKNOWN) for word in words]
        return [_BEGIN] * (self._order - 1) + ids + [_END]

    def _probability(self, gram):
        found = 1.0 / (len(self._numbers) + 2)  # all words, the unknown one and the end
        for level in reversed(self._levels):
            found = level.interpolated(gram[-level.size :], found)
        return found


class _Level:
    """The counts of all n-grams of one size."""

    def __init__(self, grams):
        self.size = len(next(iter(grams)))
        self._grams = grams
        self._totals, self._kinds = collections.Counter(), collections.Counter()
        for gram, count in grams.items():
            self._totals[gram[:-1]] += count
            self._kinds[gram[:-1]] += 1
        of_counts = collections.Counter(grams.values())
        self._discount = of_counts[1] / (of_counts[1] + 2 * of_counts[2])

    def interpolated(self, gram, shorter):
        """Returns the probability of the last word, given that by a shorter n-gram."""
        total = self._totals[context := gram[:-1]]
        if not total:
            return shorter
        kept = max(self._grams[gram] - self._discount, 0.0)
        return (kept + self._discount * self._kinds[context] * shorter) / total


def run(options):
    """Prints the accuracies."""
    pairs = read_pairs(options.pairs_file, options.pairs_per_set)
    with open(options.input_file, encoding="utf-8") as file:
        sentences = [_words(s) for line in file for s in split_sentences(line)]
    model = KneserNey(sentences, options.order)
    good, bad = (
        [model.score(_words(pair[side])) for pair in pairs] for side in ("good", "bad")
    )
    found = accuracies(pairs, good, bad)
    for term, share in found["linguistics_term"].items():
        print(f"{100 * share:5.1f}  {term}")
    print(f"overall = {100 * found['overall']:.2f}")


def _words(text):
    return _TOKEN.findall(text.lower())


if __name__ == "__main__":
    command_line.run(Options, run)
