"""Raw strings with `[MASK]` in them to features and the positions to predict."""

import tensorflow as tf

from albert_tf.tokenization.in_graph.features import dense_features
from albert_tf.tokenization.in_graph.tokenizer import InGraphTokenizer

MASK_MARK = "[MASK]"


def mark_of(tokenizer):
    """Returns the mark of a token to guess: a tokenizer may look for its own."""
    looks = tokenizer.mask_id in tokenizer.added_ids
    return tokenizer.special_pieces["mask_id"] if looks else MASK_MARK


class MaskedTextFeatures(tf.Module):
    """Texts in which each `[MASK]` stands for one token to guess.

    The text between two marks is tokenized by itself. A text that is too long loses
    its tail, marks included. A tokenizer that looks for its own mask in texts, as
    RoBERTa's for `<mask>`, has no other mark.

    Args:
        tokenizer: as returned by `albert_tf.load_tokenizer`.
        max_seq_length: tokens of a row at most, the special ones counted.
    """

    def __init__(self, tokenizer, max_seq_length):
        super().__init__()
        self.tokenizer = InGraphTokenizer(tokenizer, max_seq_length)
        self.cls_id, self.sep_id = tokenizer.cls_id, tokenizer.sep_id
        self.mask_id, self.pad_id = tokenizer.mask_id, tokenizer.pad_id
        self.layout = tokenizer.layout.padded_after
        self.finds_masks = mark_of(tokenizer) != MASK_MARK
        self.max_seq_length = max_seq_length

    def __call__(self, text):
        """Features `[batch, tokens]` and int32 `masked_lm_positions` `[batch, marks]`.

        A row with fewer marks than another has its layout's `nowhere` in the places
        left over.
        """
        ids = self.tokenizer(text) if self.finds_masks else self._marked(text)
        kept = tf.minimum(ids.row_lengths(), self.max_seq_length - 2)
        ids = tf.gather(ids, tf.ragged.range(kept), batch_dims=1)
        special = tf.ones_like(kept, tf.int32)[:, None]  # [B, 1]
        cls, sep = special * self.cls_id, special * self.sep_id
        is_last = self.layout.cls_last
        rows = tf.concat([ids, sep, cls] if is_last else [cls, ids, sep], axis=1)
        positions = tf.ragged.boolean_mask(
            tf.ragged.range(tf.cast(rows.row_lengths(), tf.int32)), rows == self.mask_id
        )
        features = dense_features(rows, rows.row_lengths(), self.layout, self.pad_id)
        positions = positions.to_tensor(self.layout.nowhere)
        return {**features, "masked_lm_positions": positions}

    def _marked(self, text):
        """Returns ids of texts, ragged `[batch, (tokens)]`, with their marks' ids."""
        parts = tf.strings.split(text, MASK_MARK)  # [B, (parts)]
        # A part yields a token at least, the mask after it.
        parts = parts[:, : self.max_seq_length]
        ids = self.tokenizer(parts.flat_values)  # [all parts, (tokens)]
        mask = tf.fill([ids.nrows(), 1], tf.constant(self.mask_id, tf.int32))
        ids = parts.with_flat_values(tf.concat([ids, mask], axis=1))
        ids = ids.merge_dims(1, 2)  # [B, (parts), (tokens)] -> [B, (tokens)]
        # Every part was followed by a mask, but only those between parts are marks.
        return tf.gather(ids, tf.ragged.range(ids.row_lengths() - 1), batch_dims=1)
