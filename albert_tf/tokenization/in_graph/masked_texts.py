"""Raw strings with `[MASK]` in them to features and the positions to predict."""

import tensorflow as tf

from albert_tf.tokenization.in_graph.features import dense_features
from albert_tf.tokenization.in_graph.tokenizer import InGraphTokenizer

MASK_MARK = "[MASK]"


class MaskedTextFeatures(tf.Module):
    """Texts in which each `[MASK]` stands for one token to guess.

    The text between two marks is tokenized by itself. A text that is too long loses
    its tail, marks included.

    Args:
        tokenizer: an `InGraphTokenizer`.
        cls_id: id before the text.
        sep_id: id after the text.
        mask_id: id in place of each mark.
        max_seq_length: tokens of a row at most, the special ones counted.
    """

    example = f"it is a very {MASK_MARK} one ."

    @classmethod
    def of(cls, tokenizer, max_seq_length):
        """The features that a tokenizer makes."""
        ids = tokenizer.cls_id, tokenizer.sep_id, tokenizer.mask_id
        return cls(InGraphTokenizer(tokenizer, max_seq_length), *ids, max_seq_length)

    def __init__(self, tokenizer, cls_id, sep_id, mask_id, max_seq_length):
        super().__init__()
        self.tokenizer = tokenizer
        self.cls_id = cls_id
        self.sep_id = sep_id
        self.mask_id = mask_id
        self.max_seq_length = max_seq_length

    def __call__(self, text):
        """Features `[batch, tokens]` and int32 `masked_lm_positions` `[batch, marks]`.

        A row with fewer marks than another has position 0 in the places left over.
        """
        parts = tf.strings.split(text, MASK_MARK)  # [B, (parts)]
        # A part yields a token at least, the mask after it.
        parts = parts[:, : self.max_seq_length]
        ids = self.tokenizer(parts.flat_values)  # [all parts, (tokens)]
        mask = tf.fill([ids.nrows(), 1], tf.constant(self.mask_id, tf.int32))
        ids = parts.with_flat_values(tf.concat([ids, mask], axis=1))
        ids = ids.merge_dims(1, 2)  # [B, (parts), (tokens)] -> [B, (tokens)]
        # Every part was followed by a mask, but only those between parts are marks.
        kept = tf.minimum(ids.row_lengths() - 1, self.max_seq_length - 2)
        ids = tf.gather(ids, tf.ragged.range(kept), batch_dims=1)
        special = tf.ones_like(kept, tf.int32)[:, None]  # [B, 1]
        rows = tf.concat([special * self.cls_id, ids, special * self.sep_id], axis=1)
        positions = tf.ragged.boolean_mask(
            tf.ragged.range(tf.cast(rows.row_lengths(), tf.int32)), rows == self.mask_id
        )
        features = dense_features(rows, rows.row_lengths())
        return {**features, "masked_lm_positions": positions.to_tensor(0)}
