"""Features from raw strings, with or without masks to fill, in a graph."""

import tensorflow as tf

from albert_tf.tokenization.added_tokens import AddedToken
from albert_tf.tokenization.in_graph.tokenizer import InGraphTokenizer

MASK_MARK = "[MASK]"


class TextFeatures(tf.Module):
    """Maps texts, or pairs of texts, to the features of fine-tuning.

    It truncates texts like `features.truncated_lengths`, and pads the batch to its
    longest row.

    Args:
        tokenizer: a `Tokenizer`.
        max_length: the maximal number of tokens in a row, including special ones.
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
        second = None if text_pair is None else self.tokenizer(text_pair)
        return self._features(self.tokenizer(text), second)

    def _features(self, first, second=None):
        """Makes the features of texts from their ids, ragged `[B, (tokens)]`."""
        layout, lengths = self.layout, first.row_lengths()
        special = tf.ones_like(lengths, tf.int32)[:, None]  # of each row
        cls, sep = special * self.cls_id, special * self.sep_id
        room = self._max_length - layout.special(second is not None)
        if second is None:
            between = 1
            parts = [kept_tokens(first, tf.minimum(lengths, room), self._ends), sep]
        else:
            between, others = layout.between, second.row_lengths()
            half = (room + 1) // 2
            left = tf.minimum(lengths, tf.maximum(room - others, half))
            parts = [kept_tokens(first, left, self._ends), *[sep] * between]
            left = tf.minimum(others, room - left)
            parts += [kept_tokens(second, left, self._ends), sep]
        first_lengths = parts[0].row_lengths() + layout.before + between
        rows = [*parts, cls] if layout.cls_last else [cls, *parts]
        return dense_features(
            tf.concat(rows, axis=1), first_lengths, layout, self.pad_id
        )


def dense_features(rows, first_lengths, layout, pad_id):
    """Pads ragged rows of ids `[B, (tokens)]`; B begins at `first_lengths`."""
    input_ids = rows.to_tensor(pad_id)  # [B, T]
    # Without rows there is no length, but the model reads a token.
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


def kept_tokens(rows, lengths, ends=False):
    """Keeps the first (or last) `lengths` items, int64 `[batch]`, of ragged rows."""
    first = rows.row_lengths() - lengths if ends else tf.zeros_like(lengths)
    return tf.gather(rows, tf.ragged.range(first, first + lengths), batch_dims=1)


def numbers(width, lengths, layout):
    """Numbers the places of rows by their tokens, counted from 0.

    Numbers of padding are negative, or at least the length.

    Args:
        width: T.
        lengths: `[B, 1]`, the rows' lengths.
        layout: their `RowLayout`.

    Returns:
        `[B, T]`, or a shape that broadcasts to it.
    """
    places = tf.range(width)
    return places - (width - lengths) if layout.pads_left else places


def is_token(number, lengths):
    """Marks places that are not padding, bool `[B, T]`, from the `numbers`."""
    return (number >= 0) & (number < lengths)


def segments(number, lengths, first_lengths, layout):
    """Returns the segment of each place, int32 `[B, T]`.

    Args:
        number: the result of `numbers`.
        lengths: `[B, 1]`, the rows' lengths.
        first_lengths: `[B, 1]`, tokens before the second text.
        layout: the `RowLayout`.
    """
    found = tf.cast(number >= first_lengths, tf.int32) * layout.second_segment
    if layout.cls_last:
        found = tf.where(number == lengths - 1, layout.cls_segment, found)
    return tf.where(is_token(number, lengths), found, layout.pad_segment)


def moved_right(values, lengths):
    """Moves the padding of rows from after their tokens to before them.

    Args:
        values: `[B, T]`.
        lengths: int64 `[B, 1]`, of the rows.
    """
    width = tf.shape(values, tf.int64)[1]
    number = tf.range(width) - (width - lengths)
    # The padding wraps around to the front.
    return tf.gather(values, number % tf.maximum(width, 1), batch_dims=1)


def mark_of(tokenizer):
    """Returns the text that means a mask: `[MASK]`, or the tokenizer's own."""
    looks = tokenizer.mask_id in tokenizer.added_ids
    return tokenizer.special_pieces["mask_id"] if looks else MASK_MARK


def mask_positions(input_ids, mask_id, nowhere):
    """Returns the places of masks in rows `[B, T]`, int32 `[B, masks]`.

    Rows with fewer masks than another end with `nowhere`.
    """
    places = tf.broadcast_to(tf.range(tf.shape(input_ids)[1]), tf.shape(input_ids))
    return tf.ragged.boolean_mask(places, input_ids == mask_id).to_tensor(nowhere)


class MaskedTextFeatures(TextFeatures):
    """Texts in which each `[MASK]` stands for one token to guess.

    The text between two marks is tokenized separately. A text that is too long loses
    its tail, including marks. A tokenizer that finds its own mask in texts, such as
    RoBERTa's `<mask>`, has no other mark.

    Args:
        tokenizer: a result of `albert_tf.load_tokenizer`.
        max_length: the maximal number of tokens in a row, including special ones.
    """

    def __init__(self, tokenizer, max_length):
        marked, self.mask_id = tokenizer, tokenizer.mask_id
        if mark_of(tokenizer) == MASK_MARK:
            marked = tokenizer.looking_for([AddedToken(MASK_MARK, self.mask_id)])
        super().__init__(marked, max_length, tokenizer.layout.padded_after)

    def __call__(self, text):
        """Returns features `[batch, tokens]` and `masked_lm_positions`.

        The latter is int32 `[batch, marks]`, padded with the layout's `nowhere`.
        """
        features = super().__call__(text)
        positions = mask_positions(
            features["input_ids"], self.mask_id, self.layout.nowhere
        )
        return {**features, "masked_lm_positions": positions}
