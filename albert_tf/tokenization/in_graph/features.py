"""Raw strings, with marks of tokens to guess or without, to features in a graph."""

import tensorflow as tf

from albert_tf.tokenization.in_graph.tokenizer import InGraphTokenizer

MASK_MARK = "[MASK]"


class TextFeatures(tf.Module):
    """Maps texts, or pairs of texts, to the features of fine-tuning.

    Truncation is as by `truncated_lengths`; the batch is padded to its
    longest row.

    Args:
        tokenizer: a `Tokenizer`.
        max_length: tokens of a row at most, the special ones counted.
        layout: the `RowLayout` of the rows; by default the tokenizer's.
    """

    def __init__(self, tokenizer, max_length, layout=None):
        super().__init__()
        self._ends = tokenizer.rules.keeps_ends
        self.tokenizer = InGraphTokenizer(tokenizer, None if self._ends else max_length)
        self.cls_id, self.sep_id = tokenizer.cls_id, tokenizer.sep_id
        self.layout, self.pad_id = layout or tokenizer.layout, tokenizer.pad_id
        self._max_length = max_length

    def __call__(self, text, text_pair=None):
        """Returns int32 `input_ids`, `input_mask`, `segment_ids` `[batch, tokens]`."""
        first = self.tokenizer(text)  # [B, (tokens)]
        if text_pair is None:
            return self.of_one_text(first)
        second = self.tokenizer(text_pair)
        left = _truncated_lengths(first, second, self._room(has_pairs=True))
        first, second = (
            kept_tokens(ids, lengths, self._ends)
            for ids, lengths in zip((first, second), left, strict=True)
        )
        cls, sep = self._special(first)
        between = self.layout.between
        return self._features(cls, [first, *[sep] * between, second, sep], between)

    def of_one_text(self, ids):
        """Makes the features of single texts from their ids, ragged `[B, (tokens)]`."""
        kept = tf.minimum(ids.row_lengths(), self._room(has_pairs=False))
        cls, sep = self._special(ids)
        return self._features(cls, [kept_tokens(ids, kept, self._ends), sep], 1)

    def _special(self, rows):
        """Returns `[CLS]` and `[SEP]` of each row, int32 `[B, 1]`."""
        special = tf.ones_like(rows.row_lengths(), tf.int32)[:, None]
        return special * self.cls_id, special * self.sep_id

    def _features(self, cls, parts, between):
        """Makes features of `[CLS]` and a row's parts, the first text before all."""
        first_lengths = parts[0].row_lengths() + self.layout.before + between
        parts = [*parts, cls] if self.layout.cls_last else [cls, *parts]
        rows = tf.concat(parts, axis=1)
        return dense_features(rows, first_lengths, self.layout, self.pad_id)

    def _room(self, has_pairs):
        special = self.layout.special(has_pairs)
        return tf.constant(self._max_length - special, tf.int64)


def dense_features(rows, first_lengths, layout, pad_id):
    """Pads ragged rows of ids `[B, (tokens)]`; B begins at `first_lengths`."""
    input_ids = rows.to_tensor(pad_id)  # [B, T]
    # Of no row there is no length, but the model reads a token.
    missing = tf.maximum(1 - tf.shape(input_ids)[1], 0)
    input_ids = tf.pad(input_ids, [[0, 0], [0, missing]])
    lengths = rows.row_lengths()[:, None]  # [B, 1]
    if layout.pads_left:
        input_ids = moved_right(input_ids, lengths)
    number = numbers(tf.shape(input_ids, tf.int64)[1], lengths, layout)
    return {
        "input_ids": input_ids,
        "input_mask": tf.cast(is_token(number, lengths), tf.int32),
        "segment_ids": segments(number, lengths, first_lengths[:, None], layout),
    }


def _truncated_lengths(first, second, room):
    """Computes `features.truncated_lengths` inside a graph."""
    first_length, second_length = first.row_lengths(), second.row_lengths()
    half = (room + 1) // 2
    first_left = tf.minimum(first_length, tf.maximum(room - second_length, half))
    return first_left, tf.minimum(second_length, room - first_left)


def kept_tokens(rows, lengths, ends=False):
    """Takes the first `lengths` items, int64 `[batch]`, of each ragged row; or last."""
    first = rows.row_lengths() - lengths if ends else tf.zeros_like(lengths)
    return tf.gather(rows, tf.ragged.range(first, first + lengths), batch_dims=1)


def numbers(width, lengths, layout):
    """Numbers the places of rows by their tokens, counted from 0.

    Padding has a number below 0, or one that is not less than the length.

    Args:
        width: T.
        lengths: `[B, 1]`, of the rows.
        layout: their `RowLayout`.

    Returns:
        `[B, T]`, or a shape that broadcasts to it.
    """
    places = tf.range(width)
    return places - (width - lengths) if layout.pads_left else places


def is_token(number, lengths):
    """Marks places that are no padding, by the result of `numbers`: bool `[B, T]`."""
    return (number >= 0) & (number < lengths)


def segments(number, lengths, first_lengths, layout):
    """Returns the segment of each place, int32 `[B, T]`.

    Args:
        number: the result of `numbers`.
        lengths: `[B, 1]`, of the rows.
        first_lengths: `[B, 1]`, tokens before the second text.
        layout: the `RowLayout`.
    """
    found = tf.cast(number >= first_lengths, tf.int32) * layout.second_segment
    if layout.cls_last:
        found = tf.where(number == lengths - 1, layout.cls_segment, found)
    return tf.where(is_token(number, lengths), found, layout.pad_segment)


def moved_right(values, lengths):
    """Rows that are padded after their tokens as rows that are padded before them.

    Args:
        values: `[B, T]`.
        lengths: int64 `[B, 1]`, of the rows.
    """
    width = tf.shape(values, tf.int64)[1]
    number = tf.range(width) - (width - lengths)
    # The padding comes round to the front.
    return tf.gather(values, number % tf.maximum(width, 1), batch_dims=1)


def mark_of(tokenizer):
    """Returns the mark of a token to guess: a tokenizer may look for its own."""
    looks = tokenizer.mask_id in tokenizer.added_ids
    return tokenizer.special_pieces["mask_id"] if looks else MASK_MARK


def mask_positions(input_ids, mask_id, nowhere):
    """Finds the masks of rows `[B, T]`: int32 `[B, masks]`; `nowhere` where fewer."""
    places = tf.broadcast_to(tf.range(tf.shape(input_ids)[1]), tf.shape(input_ids))
    return tf.ragged.boolean_mask(places, input_ids == mask_id).to_tensor(nowhere)


class MaskedTextFeatures(TextFeatures):
    """Texts in which each `[MASK]` stands for one token to guess.

    The text between two marks is tokenized by itself. A text that is too long loses
    its tail, marks included. A tokenizer that looks for its own mask in texts, as
    RoBERTa's for `<mask>`, has no other mark.

    Args:
        tokenizer: as returned by `albert_tf.load_tokenizer`.
        max_length: tokens of a row at most, the special ones counted.
    """

    def __init__(self, tokenizer, max_length):
        super().__init__(tokenizer, max_length, tokenizer.layout.padded_after)
        self.mask_id = tokenizer.mask_id
        self.finds_masks = mark_of(tokenizer) != MASK_MARK

    def __call__(self, text):
        """Features `[batch, tokens]` and int32 `masked_lm_positions` `[batch, marks]`.

        A row with fewer marks than another has its layout's `nowhere` in the places
        left over.
        """
        ids = self.tokenizer(text) if self.finds_masks else self._marked(text)
        features = self.of_one_text(ids)
        positions = mask_positions(
            features["input_ids"], self.mask_id, self.layout.nowhere
        )
        return {**features, "masked_lm_positions": positions}

    def _marked(self, text):
        """Returns ids of texts, ragged `[batch, (tokens)]`, with their marks' ids."""
        parts = tf.strings.split(text, MASK_MARK)  # [B, (parts)]
        # A part yields a token at least, the mask after it.
        most = self._max_length
        parts = parts[:, -most:] if self._ends else parts[:, :most]
        ids = self.tokenizer(parts.flat_values)  # [all parts, (tokens)]
        mask = tf.fill([ids.nrows(), 1], tf.constant(self.mask_id, tf.int32))
        ids = parts.with_flat_values(tf.concat([ids, mask], axis=1))
        ids = ids.merge_dims(1, 2)  # [B, (parts), (tokens)] -> [B, (tokens)]
        # Every part was followed by a mask, but only those between parts are marks.
        return tf.gather(ids, tf.ragged.range(ids.row_lengths() - 1), batch_dims=1)
