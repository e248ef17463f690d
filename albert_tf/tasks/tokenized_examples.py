"""Tokenized examples, ready for batching at any length, and their cache."""

import dataclasses
import json
import pathlib
import zipfile

import numpy as np
from absl import logging

from albert_tf.errors import UserError
from albert_tf.io import checksums
from albert_tf.io.files import replacing_file
from albert_tf.row_layout import CLS_FIRST
from albert_tf.row_layout import RowLayout
from albert_tf.tasks.long_texts import LongTexts
from albert_tf.tasks.windows import Layout
from albert_tf.tokenization.features import HEAD_SHARE
from albert_tf.tokenization.features import truncated_lengths
from albert_tf.tokenization.parallel import encode_flat_in_parallel

_PLACED = 8192  # rows
_VERSION = 3  # increment when rows are built differently
# NumPy's errors for files that are truncated or have another format.
_DAMAGED = (EOFError, KeyError, OSError, TypeError, ValueError, zipfile.BadZipFile)


@dataclasses.dataclass(frozen=True)
class TokenizedExamples:
    """Rows such as `[CLS] A [SEP]` or `[CLS] A [SEP] B [SEP]`, of any lengths.

    An example is a row; in multiple choice, it is one row per choice, and of a text in
    windows one per window. Arrays are then `[N, choices]` or `[N, windows]`, and
    examples with fewer are padded with rows of length 0.

    Attributes:
        ids: int32, the ids of all rows, one row after the other.
        starts: int64 `[N]`, the start of each row in `ids`.
        lengths: int32 `[N]`, the number of tokens in each row.
        first_lengths: int32 `[N]`, tokens before the second text, of `[CLS] A [SEP]`
            (XLNet: of `A [SEP]`, RoBERTa: of `<s> A </s></s>`).
        labels: as in `Table`, or None; or int32 `[len(ids)]`, one per token, -1 for
            none.
        weights: float32 `[N]`, the loss weight of each example; None for 1.
        teacher: float32 `[N, …]` or `[len(ids), …]`, a teacher's logits for each
            example or token (`Task.distilled`), or None.
        prompt_lengths: int32 `[N]`, the tokens at the beginning of each row that the
            model reads, but leaves out of a mean; None for none.
        layout: the `RowLayout`.
        pad_id: the id of padding.
    """

    ids: np.ndarray
    starts: np.ndarray
    lengths: np.ndarray
    first_lengths: np.ndarray
    labels: np.ndarray | None = None
    weights: np.ndarray | None = None
    teacher: np.ndarray | None = None
    prompt_lengths: np.ndarray | None = None
    layout: RowLayout = CLS_FIRST
    pad_id: int = 0

    def __len__(self):
        return len(self.starts)

    def are_of_tokens(self, values):
        """Returns whether `labels` or `teacher` have one value per token."""
        # Every row has at least [CLS] and [SEP].
        return values is not None and len(values) == len(self.ids) > len(self)

    @property
    def sizes(self):
        """int `[N]`: sort keys; examples with similar keys need little padding.

        The key is a row's length; for several rows, their number, then the longest.
        """
        axes = tuple(range(1, self.lengths.ndim))  # of the rows of an example
        counts = (self.lengths > 0).sum(axis=axes)
        longest = self.lengths.max(axis=axes).astype(np.int64)
        return counts * (longest.max(initial=0) + 1) + longest

    def arrays(self):
        """Returns the array fields by name."""
        values = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        return {n: v for n, v in values.items() if isinstance(v, np.ndarray)}

    def take(self, rows):
        """Selects the examples at `rows`, an int array, in that order."""

        def taken(values):
            is_whole = values is None or self.are_of_tokens(values)
            return values if is_whole else values[rows]

        return TokenizedExamples(
            self.ids,
            *(v[rows] for v in (self.starts, self.lengths, self.first_lengths)),
            *map(taken, (self.labels, self.weights, self.teacher, self.prompt_lengths)),
            layout=self.layout,
            pad_id=self.pad_id,
        )


def tokenize_texts(
    texts, text_pairs, tokenizer, max_seq_length, labels=None, long_texts=None
):
    """Tokenizes texts or pairs of texts into `TokenizedExamples`, long ones shortened.

    Args:
        texts: list of strings.
        text_pairs: list of strings of the same length, or None.
        tokenizer: as returned by `albert_tf.load_tokenizer`.
        max_seq_length: maximum number of tokens in a row, including special tokens.
        labels: stored unchanged.
        long_texts: the `LongTexts`; None to truncate. Pairs have no windows.

    Raises:
        UserError: `max_seq_length` leaves no room for text, or pairs are to have
            windows.
    """
    long_texts = long_texts or LongTexts()
    layout = tokenizer.layout
    room = max_seq_length - layout.special(text_pairs is not None)
    if room < 2:
        raise UserError(
            f"max_seq_length={max_seq_length} leaves no room for text beside the "
            f"special tokens; expected {layout.special(True) + 2} or more."
        )
    if long_texts.in_windows and text_pairs is not None:
        raise UserError(
            "long_texts=windows reads single texts, not pairs; take head_tail."
        )
    first, first_lengths = encode_flat_in_parallel(tokenizer, texts)
    part = tokenizer.rules.keeps_ends, long_texts.head_tail
    if long_texts.in_windows:
        rows = _in_windows(
            tokenizer, first, first_lengths, max_seq_length, long_texts.stride
        )
    elif text_pairs is None:
        left = np.minimum(first_lengths, room)
        rows = assemble_rows(tokenizer, _kept(first, first_lengths, left, *part))
    else:
        second, second_lengths = encode_flat_in_parallel(tokenizer, text_pairs)
        left, second_left = truncated_lengths(first_lengths, second_lengths, room)
        rows = assemble_rows(
            tokenizer,
            _kept(first, first_lengths, left, *part),
            _kept(second, second_lengths, second_left, *part),
        )
    return dataclasses.replace(rows, labels=labels)


def _kept(ids, lengths, left, ends, head_tail):
    """Returns texts in the form of `assemble_rows`, shortened to `left` tokens.

    These are the first ones, or the last ones if `ends`; if `head_tail`, both.
    """
    begins = begins_of(lengths)
    if not head_tail:
        return ids, begins + (lengths - left if ends else 0), left
    place = np.arange(len(ids)) - np.repeat(begins, lengths)
    head = left // HEAD_SHARE
    is_kept = place < np.repeat(head, lengths)
    is_kept |= place >= np.repeat(lengths - left + head, lengths)
    return ids[is_kept], begins_of(left), left


def _in_windows(tokenizer, ids, lengths, max_seq_length, stride):
    """Makes `TokenizedExamples` `[N, windows]` of the windows of each text."""
    others = np.full(len(lengths), tokenizer.layout.special(False))
    cut = Layout(tokenizer.layout, others, lengths, max_seq_length, stride)
    begins = begins_of(lengths)[cut.text] + cut.first
    rows = assemble_rows(tokenizer, (ids, begins, cut.tokens))
    return grouped(rows, np.bincount(cut.text, minlength=len(lengths)))


def grouped(rows, counts):
    """Groups `TokenizedExamples` of rows to examples of several rows.

    Args:
        rows: the rows of all examples, `[rows]`.
        counts: int `[N]`, the number of rows of each example.

    Returns:
        `TokenizedExamples` `[N, largest count]`; missing rows have length 0.
    """
    largest = counts.max(initial=1)
    is_row = np.arange(largest) < counts[:, None]

    def group(values):
        found = np.zeros((len(counts), largest), values.dtype)
        found[is_row] = values
        return found

    names = ("starts", "lengths", "first_lengths")
    own = {name: group(getattr(rows, name)) for name in names}
    return dataclasses.replace(rows, **own)


def assemble_rows(tokenizer, first, second=None):
    """Makes `TokenizedExamples` with one text or two texts per row.

    Args:
        tokenizer: a `Tokenizer`.
        first, second: the texts of all rows: the ids of all tokens, the start of each
            row's tokens in the ids, and the number of the row's tokens.
    """
    layout, has_pairs = tokenizer.layout, second is not None
    left = first[-1]
    lengths = left + layout.special(has_pairs) + (second[-1] if has_pairs else 0)
    ends = np.cumsum(lengths, dtype=np.int64)
    starts = ends - lengths
    ids = np.full(lengths.sum(), tokenizer.sep_id, np.int32)
    ids[ends - 1 if layout.cls_last else starts] = tokenizer.cls_id
    place(*first, starts + layout.before, ids)
    # One of the special tokens follows the second text, or is XLNet's last.
    head = layout.before + left + (layout.between if has_pairs else 1)
    if has_pairs:
        place(*second, starts + head, ids)
    return TokenizedExamples(
        ids=ids,
        starts=starts,
        lengths=lengths.astype(np.int32),
        first_lengths=head.astype(np.int32),
        layout=layout,
        pad_id=tokenizer.pad_id,
    )


def from_features(features, tokenizer):
    """Makes `TokenizedExamples` from what `tokenizer(texts, padding=False)` returns."""
    rows = features["input_ids"]
    lengths = np.array([len(row) for row in rows], np.int32)
    second = np.array([row.count(1) for row in features["segment_ids"]], np.int32)
    return TokenizedExamples(
        ids=np.concatenate(rows).astype(np.int32),
        starts=begins_of(lengths),
        lengths=lengths,
        first_lengths=lengths - second - tokenizer.layout.cls_last,
        layout=tokenizer.layout,
        pad_id=tokenizer.pad_id,
    )


def begins_of(lengths):
    """Returns int64 `[N]`: the start of each text if all are concatenated."""
    return np.cumsum(lengths, dtype=np.int64) - lengths


def place(tokens, begins, kept, starts, ids):
    """Copies `kept[i]` tokens, from `tokens[begins[i]]` on, to `ids[starts[i]:]`."""
    # A few rows at a time: the indices need several times the memory of the tokens.
    for first in range(0, len(kept), _PLACED):
        rows = slice(first, first + _PLACED)
        counts = kept[rows]
        within = np.arange(counts.sum()) - np.repeat(begins_of(counts), counts)
        chosen = tokens[within + np.repeat(begins[rows], counts)]
        ids[within + np.repeat(starts[rows], counts)] = chosen


def cached_tokens(task, examples, tokenizer, max_seq_length, cache_dir):
    """Tokenizes by `Task.tokenize`, or reads earlier results from `cache_dir`.

    The key is a hash of the examples, the task's kind and `row_settings`, the
    tokenizer's fingerprint and the length, so that a changed file, vocabulary or flag
    never hits a stale entry. Labels and weights are not cached, since they come with
    the examples. A damaged file is rebuilt.

    Returns:
        The result of `Task.tokenize`, with labels and weights.
    """

    def tokenized():
        tokens = task.tokenize(examples, tokenizer, max_seq_length)
        return {n: values for n, values in tokens.arrays().items() if n != "labels"}

    facts = tokens_facts(task, examples, tokenizer, max_seq_length)
    tokens = cached(cache_dir, facts, task.tokens_class, tokenized)
    weights = {} if examples.weights is None else {"weights": examples.weights}
    return dataclasses.replace(
        tokens,
        **weights,
        labels=task.targets(examples, tokens),
        layout=task.row_layout(tokenizer),
        pad_id=tokenizer.pad_id,
    )


def tokens_facts(task, examples, tokenizer, max_seq_length):
    """Collects everything that determines the rows of `cached_tokens`, for JSON."""
    settings = [getattr(task, name) for name in task.row_settings]
    made_from = [task.kind, examples.inputs_digest(), *settings]
    facts = [_VERSION, made_from, tokenizer.fingerprint(), max_seq_length]
    if tokenizer.layout != tokenizer.usual_layout:
        facts.append(tokenizer.layout.name)
    return facts


def cached(cache_dir, facts, build, make):
    """Reads arrays from the cache, or makes them and caches them.

    Args:
        cache_dir: the folder.
        facts: everything that determines the arrays, for JSON.
        build: function that makes the result from the arrays, given by name.
        make: function that makes `{name: array}`.

    Returns:
        The result of `build`.
    """
    key = checksums.of_bytes(json.dumps(facts).encode())[:32]
    path = pathlib.Path(cache_dir) / f"{key}.npz"
    found = _read(path, build)
    if found is None:
        arrays = make()
        with replacing_file(path) as file:
            np.savez(file, **arrays)
        found = build(**arrays)
    return found


def _read(path, build):
    """Builds the result from a file's arrays; returns None if it is unreadable."""
    if not path.exists():
        return None
    try:
        # NumPy does not close a file that is no archive.
        with open(path, "rb") as file, np.load(file) as arrays:
            return build(**arrays)
    except _DAMAGED as error:
        logging.warning("%s is damaged (%s); making it again.", path, error)
        return None
