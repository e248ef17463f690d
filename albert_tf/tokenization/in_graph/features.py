"""Features from raw strings, with or without masks to fill, in a graph."""

import tensorflow as tf

from albert_tf import prompts
from albert_tf.tokenization.added_tokens import AddedToken
from albert_tf.tokenization.features import HEAD_SHARE
from albert_tf.tokenization.in_graph.tokenizer import InGraphTokenizer

MASK_MARK = "[MASK]"


class RowsOfTexts(tf.Module):
    """Assembles rows of one or two texts, as `tokenized_examples.assemble_rows` does.

    Args:
        tokenizer: a `Tokenizer`.
        layout: the `RowLayout` of the rows; by default the tokenizer's.
    """

    def __init__(self, tokenizer, layout=None):
        super().__init__()
        self.ends = tokenizer.rules.keeps_ends
        self.cls_id, self.sep_id = tokenizer.cls_id, tokenizer.sep_id
        self.layout, self.pad_id = layout or tokenizer.layout, tokenizer.pad_id

    def rows(self, first, second=None):
        """Makes the features of texts from their ids, ragged `[B, (tokens)]`."""
        layout = self.layout
        special = tf.ones_like(first.row_lengths(), tf.int32)[:, None]  # of each row
        cls, sep = special * self.cls_id, special * self.sep_id
        parts, between = [first, sep], 1
        if second is not None:
            between = layout.between
            parts = [first, *[sep] * between, second, sep]
        parts = [*parts, cls] if layout.cls_last else [cls, *parts]
        first_lengths = layout.before + first.row_lengths() + between
        rows = tf.concat(parts, axis=1)
        input_ids = rows.to_tensor(self.pad_id)  # [B, T]
        # Without rows there is no length, but the model reads a token.
        missing = tf.maximum(1 - tf.shape(input_ids)[1], 0)
        input_ids = tf.pad(input_ids, [[0, 0], [0, missing]])
        lengths = rows.row_lengths()[:, None]  # [B, 1]
        if layout.pads_left:
            input_ids = moved_right(input_ids, lengths)
        number = numbers(tf.shape(input_ids, tf.int64)[1], lengths, layout)
        sizes = lengths, first_lengths[:, None]
        return features_of(input_ids, number, *sizes, layout, self.pad_id)


class TextFeatures(RowsOfTexts):
    """Maps texts, or pairs of texts, to the features of fine-tuning.

    It truncates texts like `features.truncated_lengths`, and pads the batch to its
    longest row.

    Args:
        tokenizer: a `Tokenizer`.
        max_length: the maximal number of tokens in a row, including special ones.
        layout: the `RowLayout` of the rows; by default the tokenizer's.
        head_tail: whether a long text keeps its head and tail.

    Attributes:
        has_prompt: whether a prompt stands before texts.
    """

    has_prompt = False

    def __init__(self, tokenizer, max_length, layout=None, head_tail=False):
        super().__init__(tokenizer, layout)
        reads_ends = self.ends or head_tail
        self.tokenizer = InGraphTokenizer(tokenizer, None if reads_ends else max_length)
        self._max_length, self._head_tail = max_length, head_tail

    def __call__(self, text, text_pair=None):
        """Returns int32 `input_ids`, `input_mask`, `segment_ids` `[batch, tokens]`."""
        second = None if text_pair is None else self.tokenizer(text_pair)
        return self.of_ids(self.tokenizer(text), second)

    def of_ids(self, first, second=None):
        """Makes the features of texts from their ids, ragged `[B, (tokens)]`."""
        lengths = first.row_lengths()
        room = self._max_length - self.layout.special(second is not None)
        part = self.ends, self._head_tail
        if second is None:
            return self.rows(kept_tokens(first, tf.minimum(lengths, room), *part))
        others, half = second.row_lengths(), (room + 1) // 2
        left = tf.minimum(lengths, tf.maximum(room - others, half))
        first = kept_tokens(first, left, *part)
        left = tf.minimum(others, room - left)
        return self.rows(first, kept_tokens(second, left, *part))


class PromptedFeatures(TextFeatures):
    """Maps texts after a prompt to the features of fine-tuning.

    Args:
        tokenizer, max_length: see `TextFeatures`.
        prompt: the prompt of calls that give none, a str.
        include_prompt: whether a mean includes the prompt's tokens.
        head_tail: see `TextFeatures`.
    """

    def __init__(
        self, tokenizer, max_length, prompt="", include_prompt=True, head_tail=False
    ):
        super().__init__(tokenizer, max_length, head_tail=head_tail)
        self._prompt, self._include_prompt = prompt, include_prompt
        self.has_prompt = bool(prompt) or not include_prompt

    def __call__(self, text, text_pair=None, prompt=None):
        """Returns the features; see `TextFeatures` and `features_of`."""
        if prompt is None and not self._prompt:
            return super().__call__(text, text_pair)
        if prompt is None:
            prompt = tf.fill(tf.shape(text), self._prompt)
        features = super().__call__(tf.strings.join([prompt, text]), text_pair)
        if self._include_prompt:
            return features
        # The length of `prompts.prompt_length`.
        tokens = self.tokenizer(tf.strings.strip(prompt)).row_lengths()
        room = self._max_length - self.layout.special(False)
        tokens = 1 + tf.minimum(tf.cast(tokens, tf.int32), room)
        tokens = tf.where(tf.equal(prompt, ""), 0, tokens)[:, None]  # [B, 1]
        lengths = tf.reduce_sum(features["input_mask"], axis=1, keepdims=True)
        width = tf.shape(features["input_mask"])[1]
        number = numbers(width, lengths, self.layout)
        return _read_only_prompts(features, number, lengths, tokens)


def _read_only_prompts(features, number, lengths, prompt_lengths):
    """Marks prompts in the `input_mask`, except a row's last token.

    That token always keeps its 1, so that a mean has a token.
    """
    ends = tf.minimum(prompt_lengths, lengths - 1)
    is_prompt = (number >= 0) & (number < ends)
    mask = tf.where(is_prompt, prompts.READ_ONLY, features["input_mask"])
    return {**features, "input_mask": mask}


def features_of(
    input_ids, number, lengths, first_lengths, layout, pad_id, prompt_lengths=None
):
    """Makes a model's inputs by official name, int32 `[B, T]`.

    Args:
        input_ids: int32 `[B, T]`; padding in it may be anything.
        number: the result of `numbers`.
        lengths: `[B, 1]`, the rows' lengths.
        first_lengths: `[B, 1]`, tokens before the second text.
        layout: the `RowLayout`.
        pad_id: the id of padding.
        prompt_lengths: `[B, 1]`, the number of tokens at the beginning of rows that are
            prompts; their `input_mask` is `prompts.READ_ONLY`. None for none.
    """
    real = is_token(number, lengths)
    features = {
        "input_ids": tf.where(real, input_ids, pad_id),
        "input_mask": tf.cast(real, tf.int32),
        "segment_ids": segments(number, lengths, first_lengths, layout),
    }
    if prompt_lengths is None:
        return features
    return _read_only_prompts(features, number, lengths, prompt_lengths)


def kept_tokens(rows, lengths, ends, head_tail=False):
    """Keeps `lengths` items, int64 `[batch]`, of ragged rows.

    These are the first ones, or the last ones if `ends`; if `head_tail`, both.
    """
    cut = rows.row_lengths() - lengths
    if head_tail:
        head = lengths // HEAD_SHARE
        places = [tf.ragged.range(head), tf.ragged.range(cut + head, cut + lengths)]
        return tf.gather(rows, tf.concat(places, axis=1), batch_dims=1)
    first = cut if ends else tf.zeros_like(lengths)
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
        values: `[B, T]`, T at least 1.
        lengths: int64 `[B, 1]`, of the rows.
    """
    width = tf.shape(values, tf.int64)[1]
    number = tf.range(width) - (width - lengths)
    # The padding wraps around to the front.
    return tf.gather(values, number % width, batch_dims=1)


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
