"""Byte-level BPE in a graph.

Shapes: W words; R distinct words that are not single pieces; N concatenated pieces of
these R words; K windows of these words.
"""

import tensorflow as tf

from albert_tf.tokenization import byte_bpe
from albert_tf.tokenization.byte_bpe import CHARACTERS
from albert_tf.tokenization.byte_bpe import bytes_of
from albert_tf.tokenization.in_graph import origins
from albert_tf.tokenization.in_graph.texts import UTF8
from albert_tf.tokenization.in_graph.texts import first_characters
from albert_tf.tokenization.in_graph.texts import tensorflow_text
from albert_tf.tokenization.normalization import joining_characters

_HASHES = 2**62
_NO_RANK = tf.int32.max
# Bytes from one window of a word to the next. A run of one to four repeated characters
# repeats within it, so that its windows are alike.
_STRIDE = 48
_TURNS = 4  # iterations before windows that do not join are united with more others
_NOWHERE = tf.int64.max


class ByteBpeInGraph(tf.Module):
    """A `ByteBpeTokenizer` for string `[batch]`; see `InGraphTokenizer`.

    It looks up words that are pieces. A loop merges the pairs of all other words in
    parallel; it takes as many steps as the longest word has merges, so long words are
    cut into windows.
    """

    def __init__(self, tokenizer, max_characters):
        super().__init__()
        self._max_characters = max_characters
        self._add_prefix_space = tokenizer.rules.add_prefix_space
        self._composes = tokenizer.rules.composes
        if self._composes:
            self._joining = tf.constant(joining_characters())
        self._classes = tf.constant(byte_bpe.classes())
        self._tabulate_words(tokenizer)
        self._tabulate_pairs(tokenizer)

    def _tabulate_words(self, tokenizer):
        """Builds a table of the pieces whose bytes merge to the piece, by hash."""
        pieces = [bytes_of(piece) or b"" for piece in tokenizer.pieces]
        apply = tokenizer.merges.apply
        whole = [i for i, data in enumerate(pieces) if data and apply(data) == [i]]
        hashes = tf.strings.to_hash_bucket_fast([pieces[i] for i in whole], _HASHES)
        places = dict(zip(hashes.numpy().tolist(), whole, strict=True))
        self._hashes = tf.constant(sorted(places), tf.int64)
        self._hashed = tf.constant([places[h] for h in sorted(places)], tf.int32)
        self._pieces = tf.constant(pieces)
        # In characters, and in how many of these are spaces at both ends.
        space = CHARACTERS[ord(" ")]
        counts = [
            (len(p), len(p) - len(p.lstrip(space)), len(p) - len(p.rstrip(space)))
            for p in tokenizer.pieces
        ]
        self._counts = tf.constant(counts, tf.int64)
        self._byte_ids = tf.constant(tokenizer.merges.byte_ids, tf.int32)

    def _tabulate_pairs(self, tokenizer):
        self._size = tokenizer.vocab_size
        pairs = sorted(tokenizer.merges.pairs.items())
        keys = [left * self._size + right for (left, right), _ in pairs]
        # One that is never met, so that there is one to look at.
        self._keys = tf.constant([*keys, self._size**2], tf.int64)
        self._ranks = tf.constant([*(rank for _, (rank, _) in pairs), 0], tf.int32)
        self._merged = tf.constant([*(index for _, (_, index) in pairs), 0], tf.int32)
        self._at_once = tokenizer.merges.grow_in_order()

    def prepare(self, text):
        return text

    fold = prepare

    def __call__(self, text):
        if self._composes:
            text = tensorflow_text().normalize_utf8(text, "NFC")
        return self._ids(first_characters(self._prefixed(text), self._max_characters))

    def _prefixed(self, text):
        if not self._add_prefix_space:
            return text
        is_bare = tf.strings.regex_full_match(text, "[^ ](?s:.*)")
        return tf.where(is_bare, " " + text, text)

    def with_offsets(self, text):
        if not self._composes:
            return self._with_offsets(text)
        composed, begins, ends = self._composed(text)
        ids, *places = self._with_offsets(composed)
        first, last = (tf.cast(p.flat_values, tf.int64) for p in places)
        row = ids.value_rowids()
        length = tf.cast(tf.strings.length(composed, unit="UTF8_CHAR"), tf.int64)
        start = tf.gather(origins.starts_of(length), row)
        # One more, for spans that are empty at the end of the last text.
        begins, ends = (tf.concat([known, [0]], 0) for known in (begins, ends))
        of_text = tf.cast(tf.strings.length(text, unit="UTF8_CHAR"), tf.int64)
        is_end = first == tf.gather(length, row)
        starts = tf.gather(begins, start + first)
        starts = tf.where(is_end, tf.gather(of_text, row), starts)
        until = tf.gather(ends, tf.maximum(start + last - 1, 0))
        until = tf.where(last > first, until, starts)
        return origins.ragged(ids.row_splits, ids.flat_values, starts, until)

    def _composed(self, text):
        """Composes string `[batch]` like `composed_with_spans`.

        Returns the texts, and the starts and ends of their characters' origins, int64
        `[characters of all]`, in the characters of the row's original text.
        """
        codes = tf.strings.unicode_decode(text, UTF8)
        place = tf.ragged.range(codes.row_lengths()).values  # in its row
        begins = (place == 0) | ~tf.gather(self._joining, codes.flat_values)
        begin = tf.where(begins)[:, 0]
        runs = tf.RaggedTensor.from_row_starts(codes.flat_values, begin, validate=False)
        parts = tensorflow_text().normalize_utf8(
            tf.strings.unicode_encode(runs, UTF8), "NFC"
        )
        counts = tf.cast(tf.strings.length(parts, unit="UTF8_CHAR"), tf.int64)
        sizes = runs.row_lengths()
        within = tf.ragged.range(counts).values
        is_same = tf.repeat(counts == sizes, counts)
        starts = tf.repeat(tf.gather(place, begin), counts)
        ends = tf.where(is_same, starts + within + 1, starts + tf.repeat(sizes, counts))
        starts = tf.where(is_same, starts + within, starts)
        return tensorflow_text().normalize_utf8(text, "NFC"), starts, ends

    def _with_offsets(self, text):
        prefixed = self._prefixed(text)
        ids = self._ids(prefixed)
        size, before, after = tf.unstack(
            tf.gather(self._counts, ids.flat_values), axis=1
        )
        last = tf.cumsum(size)  # of all texts in a row, [tokens]
        _, begins = tf.strings.unicode_split_with_offsets(prefixed, UTF8)
        bytes_ = origins.starts_of(tf.cast(tf.strings.length(prefixed), tf.int64))
        begins_of_all = begins.flat_values + tf.repeat(
            bytes_[:-1], begins.row_lengths()
        )
        starts = tf.searchsorted(begins_of_all, last - size, "right", tf.int64) - 1
        ends = tf.searchsorted(begins_of_all, last - 1, "right", tf.int64)
        starts = tf.minimum(starts + before, ends)
        ends = tf.maximum(ends - after, starts)
        added = begins.row_lengths() - tf.cast(
            tf.strings.length(text, unit="UTF8_CHAR"), tf.int64
        )
        shift = tf.repeat(begins.row_starts() + added, ids.row_lengths())
        starts, ends = (tf.maximum(places - shift, 0) for places in (starts, ends))
        return origins.ragged(ids.row_splits, ids.flat_values, starts, ends)

    def _ids(self, text):
        """Returns ragged int32 `[batch, (tokens)]`."""
        found = self._words_of(text)
        distinct, number = tf.unique(found.flat_values, tf.int64)
        ids = tf.gather(self._ids_of_words(distinct), number)
        return found.with_flat_values(ids).merge_dims(1, 2)

    def _words_of(self, text):
        """Returns ragged string `[batch, (words)]`."""
        codes = tf.strings.unicode_decode(text, UTF8)
        code, row = codes.flat_values, codes.value_rowids()
        is_first = tf.concat([tf.ones_like(row[:1], tf.bool), row[1:] != row[:-1]], 0)
        begins = _begins(code, tf.gather(self._classes, code), is_first)
        begin = tf.where(begins)[:, 0]
        found = tf.RaggedTensor.from_row_starts(code, begin, validate=False)
        counts = tf.math.unsorted_segment_sum(
            tf.ones_like(begin), tf.gather(row, begin), codes.nrows()
        )
        encoded = tf.strings.unicode_encode(found, UTF8)
        return tf.RaggedTensor.from_row_lengths(encoded, counts, validate=False)

    def _ids_of_words(self, distinct):
        """Returns ragged int32 `[words, (ids)]`."""
        hashes = tf.strings.to_hash_bucket_fast(distinct, _HASHES)
        place = tf.searchsorted(self._hashes, hashes)
        place = tf.minimum(place, tf.size(self._hashes) - 1)
        ids = tf.gather(self._hashed, place)
        is_piece = tf.gather(self._pieces, ids) == distinct
        others = tf.boolean_mask(distinct, ~is_piece)
        merged = tf.cond(
            tf.reduce_any(tf.strings.length(others) > 2 * _STRIDE),
            lambda: self._merge_long(others),
            lambda: self._merge(others),
        )
        whole = tf.boolean_mask(ids, is_piece)[:, None]
        both = tf.concat([tf.RaggedTensor.from_tensor(whole), merged], axis=0)
        count = tf.cumsum(tf.cast(is_piece, tf.int64))
        others = tf.cumsum(tf.cast(~is_piece, tf.int64)) + tf.size(whole, tf.int64)
        return tf.gather(both, tf.where(is_piece, count, others) - 1)

    def _merge_long(self, texts):
        """Merges like `_merge`, in time linear in the length of the texts.

        It merges overlapping windows of the texts. If two windows share a piece, the
        first one's pieces up to it and the second one's after it are the pieces of the
        text, because whether a border between two pieces stays depends only on these
        two. Windows that share no piece are united, and the loop continues.
        """
        characters = tf.strings.bytes_split(texts)
        begins = characters.row_splits
        counts = tf.maximum((characters.row_lengths() - 1) // _STRIDE, 1)
        first = tf.repeat(begins[:-1], counts)
        first += _STRIDE * tf.ragged.range(counts).values
        last = tf.minimum(first + 2 * _STRIDE, tf.repeat(begins[1:], counts))

        def turn(number, first, last, *_):
            places = tf.ragged.range(first, last)
            windows = tf.gather(characters.flat_values, places)
            windows = tf.strings.reduce_join(windows, axis=1)  # [K]
            distinct, index = tf.unique(windows, tf.int64)
            found = tf.gather(self._merge(distinct), index)  # [K, (ids)]
            text = tf.searchsorted(begins, first, "right", tf.int64) - 1
            is_first = first == tf.gather(begins, text)
            begin, is_kept = self._cuts(found, first, last, is_first)
            ids = tf.boolean_mask(found.flat_values, is_kept)
            rows = tf.boolean_mask(tf.gather(text, found.value_rowids()), is_kept)
            is_open = begin == _NOWHERE
            block = 4 ** tf.maximum(number - _TURNS + 1, 0)
            stays = ~_united(windows, is_open, is_first, block)
            last = tf.math.segment_max(last, tf.cumsum(tf.cast(stays, tf.int64)) - 1)
            first = tf.boolean_mask(first, stays)
            return number + 1, first, last, ids, rows, tf.reduce_any(is_open)

        nothing = tf.zeros([0], tf.int32), tf.zeros([0], tf.int64)
        shapes = map(tf.TensorShape, ([], [None], [None], [None], [None], []))
        *_, ids, rows, _ = tf.while_loop(
            lambda *state: state[-1],
            turn,
            (tf.constant(0, tf.int64), first, last, *nothing, True),
            shape_invariants=tuple(shapes),
        )
        return tf.RaggedTensor.from_value_rowids(
            ids, rows, tf.size(texts, tf.int64), validate=False
        )

    def _cuts(self, found, first, last, is_first):
        """Finds where each window takes over from the previous one, and what it keeps.

        Args:
            found: ragged int32 `[K, (ids)]`.
            first, last: int64 `[K]`, each window's bytes among the bytes of all texts.
            is_first: bool `[K]`, windows that begin a text.

        Returns:
            int64 `[K]`, the place after the first piece that a window shares with the
            previous one, or `_NOWHERE`; for the first window, the text's beginning.
            bool `[ids]`, the pieces to keep.
        """
        ids, row = found.flat_values, found.value_rowids()
        size = tf.gather(self._counts[:, 0], ids)
        shift = first - origins.starts_of(last - first)[:-1]
        ends = tf.cumsum(size) + tf.gather(shift, row)
        starts = ends - size
        key = starts * (last[-1] + 1) + ends
        _, number, count = tf.unique_with_counts(key, tf.int64)
        before = tf.concat([[0], last[:-1]], axis=0)  # the end of the window before
        is_shared = tf.gather(count, number) > 1
        is_shared &= ends <= tf.gather(before, row)
        begin = tf.where(is_shared, ends, _NOWHERE)
        begin = tf.math.segment_min(begin, row)
        begin = tf.where(is_first, first, begin)
        until = tf.concat([begin[1:], last[-1:]], axis=0)
        is_kept = (starts >= tf.gather(begin, row)) & (ends <= tf.gather(until, row))
        return begin, is_kept

    def _merge(self, texts):
        """Merges string `[R]` to ids, ragged int32 `[R, (ids)]`."""
        characters = tf.strings.bytes_split(texts)
        numbers = tf.reshape(tf.io.decode_raw(characters.flat_values, tf.uint8), [-1])
        ids = tf.gather(self._byte_ids, tf.cast(numbers, tf.int32))
        rows, count = characters.value_rowids(), tf.size(texts, tf.int64)
        shapes = tuple(map(tf.TensorShape, ([None], [None], [])))
        ids, rows, _ = tf.while_loop(
            lambda ids, rows, goes_on: goes_on,
            lambda ids, rows, _: self._step(ids, rows, count),
            (ids, rows, tf.size(ids) > 1),
            shape_invariants=shapes,
        )
        return tf.RaggedTensor.from_value_rowids(ids, rows, count, validate=False)

    def _step(self, ids, rows, count):
        """Merges the pair of the lowest rank of each word; returns whether one had any.

        Args:
            ids: int32 `[N]`.
            rows: int64 `[N]`, the word of each piece.
            count: R.
        """
        pair = tf.cast(ids[:-1], tf.int64) * self._size + tf.cast(ids[1:], tf.int64)
        place = tf.searchsorted(self._keys, pair)
        is_known = (tf.gather(self._keys, place) == pair) & (rows[:-1] == rows[1:])
        rank = tf.where(is_known, tf.gather(self._ranks, place), _NO_RANK)
        best = tf.math.unsorted_segment_min(rank, rows[:-1], count)
        chosen = is_known & (rank == tf.gather(best, rows[:-1]))
        chosen = self._apart(chosen, rows[:-1], count)
        merged = tf.where(chosen, tf.gather(self._merged, place), ids[:-1])
        stays = tf.concat([[True], ~chosen], axis=0)
        ids = tf.boolean_mask(tf.concat([merged, ids[-1:]], axis=0), stays)
        return ids, tf.boolean_mask(rows, stays), tf.reduce_any(chosen)

    def _apart(self, chosen, rows, count):
        """Picks the pairs to merge in one step; the first of overlapping pairs."""
        place = tf.range(tf.size(chosen, tf.int64))
        if not self._at_once:
            first = tf.where(chosen, place, tf.int64.max)
            first = tf.math.unsorted_segment_min(first, rows, count)
            return chosen & (place == tf.gather(first, rows))
        begins = chosen & ~tf.concat([[False], chosen[:-1]], axis=0)
        run = tf.cumsum(tf.cast(begins, tf.int64))
        begin = tf.gather(tf.concat([[[-1]], tf.where(begins)], axis=0)[:, 0], run)
        return chosen & ((place - begin) % 2 == 0)


def _united(windows, is_open, is_first, block):
    """Marks windows to unite with the previous one, bool `[K]`.

    These are the open windows and, since a run continues, the windows after an open one
    that repeat its bytes.

    Args:
        windows: string `[K]`.
        is_open: bool `[K]`, windows that share no piece with the previous one.
        is_first: bool `[K]`, windows that begin a text.
        block: int64 `[]`, the number of windows to unite if one is open.
    """
    repeats = tf.concat([[False], windows[1:] == windows[:-1]], axis=0)
    repeats |= tf.range(tf.size(windows, tf.int64)) % block > 0
    repeats &= ~is_first
    run = tf.cumsum(tf.cast(~repeats, tf.int64)) - 1
    is_open_run = tf.math.segment_max(tf.cast(is_open, tf.int32), run) > 0
    return is_open | (repeats & tf.gather(is_open_run, run))


def _begins(code, class_, is_first):
    """Marks characters that begin a word of `byte_bpe.words_of`, bool `[C]`.

    Args:
        code: int32 `[C]`, the concatenated characters of all texts.
        class_: uint8 `[C]`, their classes.
        is_first: bool `[C]`, characters that begin a text.
    """
    none = tf.zeros_like(is_first)
    is_last = _ahead(is_first, 1, True)
    is_space = class_ == byte_bpe.SPACE
    # The last of several spaces belongs to what follows them, U+0020 in one word.
    before_word = is_space & ~is_last & ~_ahead(is_space, 1, False)
    follows = _behind(before_word & (code == ord(" ")), 1)
    begins = is_first | before_word | ((class_ != _behind(class_, 1)) & ~follows)
    # "'s" and others, unless a space or another sign stands before them.
    after_word = is_first | ~(_behind(class_ == byte_bpe.OTHER, 1) | follows)
    is_mark = (code == ord("'")) & after_word
    for letters in ("s", "t", "re", "ve", "m", "ll", "d"):
        matches = is_mark
        for place, letter in enumerate(letters, 1):
            is_here = _ahead((code == ord(letter)) & ~is_first, place, False)
            matches &= is_here
        inner = none
        for place in range(1, len(letters) + 1):
            inner |= _behind(matches, place)
        begins = (begins & ~inner) | _behind(matches, len(letters) + 1)
    return begins


def _ahead(values, places, otherwise):
    """Shifts values left by some places; fills with `otherwise`."""
    filling = tf.fill([tf.minimum(places, tf.size(values))], otherwise)
    return tf.concat([values[places:], filling], axis=0)


def _behind(values, places):
    """Shifts values right by some places; fills with zeros."""
    filling = tf.zeros([tf.minimum(places, tf.size(values))], values.dtype)
    return tf.concat([filling, values], axis=0)[: tf.size(values)]
