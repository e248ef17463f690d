"""Pairs of segments from documents: pure functions of the text and a seed.

An instance is a row of five integers, (a_start, a_end, b_start, b_end, label): two
ranges of one long array of token ids, because every segment A or B, truncated or
not, is a run of consecutive tokens of one document. So instances can be paired and
shuffled by the hundred thousand before any token is copied.

Source: create_pretraining_data.py of google-research/albert and section 3.1 of the
paper; the objectives differ only in how a chunk of sentences becomes a pair.
"""

import bisect
import collections
import dataclasses
import itertools
import random

import numpy as np

from albert_tf.cli.command_line import option

OBJECTIVES = ["sop", "nsp", "none"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class PairingFlags:
    """Cutting of documents into sequences."""

    max_seq_length: int = option(
        "Length of a sequence in tokens, special tokens included.", 512, minimum=8
    )
    sentence_objective: str = option(
        "Task on two segments, A and B. sop: whether they are "
        "in order; nsp: whether B follows A or comes from elsewhere; none: nothing, "
        "a sequence is one segment of full sentences.",
        "sop",
        OBJECTIVES,
    )
    random_next_sentence: bool = option(
        "Official spelling of --sentence_objective=nsp.", False
    )
    official_sop: bool = option(
        "Pair a chunk of one sentence with a random document, as the official code "
        "does, instead of cutting the chunk in two.",
        False,
    )
    across_documents: bool = option(
        "With --sentence_objective=none, let a sequence go on in the next document, "
        "behind a [SEP] (RoBERTa's FULL-SENTENCES); else it ends with its document "
        "(DOC-SENTENCES).",
        True,
    )
    break_sentences: bool = option(
        "With --sentence_objective=none, fill a sequence with the beginning of the "
        "sentence that does not fit, with which the next sequence begins again, so "
        "that a quarter of the tokens may be repeats; else it ends with a sentence.",
        False,
    )
    short_seq_prob: float = option(
        "Share of the documents that are cut into shorter sequences.",
        0.1,
        minimum=0,
        maximum=1,
    )

    @property
    def pair_objective(self):
        """The sentence objective, whichever flag chose it."""
        return "nsp" if self.random_next_sentence else self.sentence_objective


Window = collections.namedtuple("Window", "ids word_starts segments documents")
"""A stretch of the corpus, tokenized.

ids: int32 array, the tokens of all documents in a row. word_starts: bool array, whether
each token starts a word. segments: list of int, where each segment starts in `ids`, and
its end. documents: list of int, where each document starts in `segments`, and its end.
"""


def window_of(ids, lengths, word_starts, sizes):
    """Makes the `Window` of texts, without empty texts and documents.

    Args:
        ids, word_starts: of all texts in a row.
        lengths: int array, the number of tokens of each text.
        sizes: int array, the number of texts of each document.
    """
    ends = np.concatenate([[0], np.cumsum(lengths)])
    segment_ends = np.flatnonzero(np.diff(ends)) + 1
    places = np.searchsorted(segment_ends, np.cumsum(sizes), side="right")
    return Window(
        ids=ids,
        word_starts=word_starts,
        segments=[0, *ends[segment_ends].tolist()],
        documents=np.unique(np.concatenate([[0], places])).tolist(),
    )


def make_instances(window, options, sep_id, passes, seed):
    """Cuts the documents of a `Window` into instances, in random order.

    Args:
        window, options: the `Window` and the `PairingFlags`.
        sep_id: the token between two documents of one run of full sentences.
        passes: how often each document is cut, differently each time.
        seed: int; equal seeds give equal instances.

    Returns:
        int32 array [instances, 5] and a Counter of special cases.
    """
    pairing = _Pairing(window, options, sep_id, random.Random(seed))
    for _ in range(passes):
        if options.pair_objective == "none":
            pairing.add_full_sentences()
            continue
        for document in range(len(window.documents) - 1):
            pairing.add_pairs(document)
    rows = np.array(pairing.rows, np.int32).reshape(-1, 5)
    order = np.random.default_rng(seed).permutation(len(rows))
    return rows[order], pairing.counts


class _Pairing:
    def __init__(self, window, options, sep_id, rng):
        self._window = window
        self._options = options
        self._rng = rng
        self._coin = rng.random
        self._objective = options.pair_objective
        self._sep_id = sep_id
        special = 2 if self._objective == "none" else 3
        self._max_tokens = options.max_seq_length - special
        self.rows = []
        self.counts = collections.Counter()

    def add_pairs(self, document):
        """Cuts a document into chunks of about the target length, each into A and B."""
        segments = self._window.segments
        first, last = self._window.documents[document : document + 2]
        target = self._target_length()
        while first < last:
            end = min(bisect.bisect_left(segments, segments[first] + target), last)
            first = self._add_pair(document, first, end, target)

    def add_full_sentences(self):
        """Makes runs of as many whole sentences as fit, across or within documents.

        Documents are joined by [SEP] (RoBERTa, section 4.2: FULL-SENTENCES); a run
        that ends where a document does leaves it out.
        """
        bounds = self._window.documents
        if self._options.across_documents:
            bounds = [0, len(self._window.segments) - 1]
        add = self._add_filled_runs if self._options.break_sentences else self._add_run
        for first, last in itertools.pairwise(bounds):
            add(first, last)

    def _add_run(self, first, last):
        """Cuts the segments first..last into runs of as many as fit."""
        segments = self._window.segments
        while first < last:
            fits = segments[first] + self._target_length()
            end = bisect.bisect_right(segments, fits, first + 1, last + 1) - 1
            end = max(end, first + 1)
            start, stop = segments[first], self._without_separator(segments[end])
            length = min(stop - start, self._max_tokens)
            start, stop = self._truncate(start, stop, length)
            self.rows.append((start, stop, stop, stop, 0))
            first = end

    def _add_filled_runs(self, first, last):
        """Cuts the segments first..last into full runs that may break a segment.

        A run begins with the segment that the one before broke or, where that one held
        nothing else, with the rest of it.
        """
        segments = self._window.segments
        start, end = segments[first], segments[last]
        while start < end:
            stop = min(start + self._target_length(), end)
            stop += int(stop < end and self._window.ids[stop] == self._sep_id)
            row_end = self._without_separator(stop)
            self.rows.append((start, row_end, row_end, row_end, 0))
            broken = segments[bisect.bisect_right(segments, stop) - 1]
            if stop > broken > start:
                self.counts["tokens repeated"] += stop - broken
            start = broken if broken > start else stop

    def _without_separator(self, stop):
        """Returns the end of a run that leaves out a separator before `stop`."""
        return stop - int(self._window.ids[stop - 1] == self._sep_id)

    def _target_length(self):
        if self._coin() < self._options.short_seq_prob:
            return self._rng.randint(2, self._max_tokens)
        return self._max_tokens

    def _add_pair(self, document, first, end, target):
        """Adds segments first..end as a pair; returns the first segment not used."""
        segments = self._window.segments
        if end - first == 1:
            if self._options.official_sop or self._objective == "nsp":
                return self._add_random_next(document, first, end, target)
            self._add_split_segment(segments[first], segments[end])
            return end
        if self._objective == "nsp" and self._coin() < 0.5:
            middle = self._rng.randint(first + 1, end - 1)
            return self._add_random_next(document, first, middle, target)
        middle = segments[self._rng.randint(first + 1, end - 1)]
        swap = self._objective == "sop" and self._coin() < 0.5
        self._add(segments[first], middle, middle, segments[end], swap)
        return end

    def _add_split_segment(self, start, end):
        """Adds a chunk of one sentence: its halves, cut between words, are A and B."""
        middles = np.flatnonzero(self._window.word_starts[start + 1 : end])
        if not len(middles):
            self.counts["chunks of a single word"] += 1
            return
        self.counts["pairs cut from one sentence"] += 1
        middle = start + 1 + int(middles[self._rng.randrange(len(middles))])
        self._add(start, middle, middle, end, self._coin() < 0.5)

    def _add_random_next(self, document, first, end, target):
        """Adds a pair with label 1, whose B comes from another document at random."""
        window = self._window
        for _ in range(10):
            other = self._rng.randrange(len(window.documents) - 1)
            if other != document:
                break
        other_first, other_last = window.documents[other : other + 2]
        b_first = self._rng.randrange(other_first, other_last)
        a_start, a_end = window.segments[first], window.segments[end]
        b_start = window.segments[b_first]
        wanted = b_start + target - (a_end - a_start)
        b_last = bisect.bisect_left(window.segments, wanted, b_first + 1, other_last)
        self.counts["pairs from two documents"] += 1
        self._append(a_start, a_end, b_start, window.segments[b_last], 1)
        return end

    def _add(self, a_start, a_end, b_start, b_end, swap):
        if swap:
            self._append(b_start, b_end, a_start, a_end, 1)
        else:
            self._append(a_start, a_end, b_start, b_end, 0)

    def _append(self, a_start, a_end, b_start, b_end, label):
        lengths = a_end - a_start, b_end - b_start
        a_length, b_length = truncated_lengths(*lengths, self._max_tokens)
        a_start, a_end = self._truncate(a_start, a_end, a_length)
        b_start, b_end = self._truncate(b_start, b_end, b_length)
        self.rows.append((a_start, a_end, b_start, b_end, label))

    def _truncate(self, start, end, length):
        """Drops tokens one by one, each from the front or the back by a fair coin."""
        excess = end - start - length
        if not excess:
            return start, end
        self.counts["tokens truncated"] += excess
        front = self._rng.getrandbits(excess).bit_count()
        return start + front, start + front + length


def join_documents(window, sep_id):
    """Returns the window with `sep_id` after each document, in its last segment."""
    first_segments = np.array(window.documents[:-1])
    segments = np.array(window.segments)
    ends = segments[window.documents[1:]]
    shifts = np.zeros(len(segments), np.int64)
    shifts[first_segments[1:]] = 1
    shifts[-1] = 1
    return window._replace(
        ids=np.insert(window.ids, ends, sep_id),
        word_starts=np.insert(window.word_starts, ends, True),
        segments=(segments + np.cumsum(shifts)).tolist(),
    )


def truncated_lengths(a_length, b_length, max_tokens):
    """Returns the lengths after dropping tokens of the longer segment (B if equal)."""
    a_left = min(a_length, max(max_tokens - b_length, (max_tokens + 1) // 2))
    return a_left, min(b_length, max_tokens - a_left)
