"""Tokenizers with added tokens in a TensorFlow graph, for serving and tf.data."""

import re

import tensorflow as tf

from albert_tf.tokenization.in_graph import origins
from albert_tf.tokenization.in_graph.byte_bpe import ByteBpeInGraph
from albert_tf.tokenization.in_graph.sentencepiece import SentencePieceInGraph
from albert_tf.tokenization.in_graph.texts import UTF8
from albert_tf.tokenization.in_graph.texts import cut
from albert_tf.tokenization.in_graph.wordpiece import WordPieceInGraph
from albert_tf.tokenization.normalization import SPACES

CHARACTERS_OF_A_TOKEN = 256
"""More than any piece has: at most 200 in WordPiece, 16 by default in SentencePiece."""


class AddedInGraph(tf.Module):
    """Finds added tokens in strings `[batch]`; `base` tokenizes the text between.

    Args:
        added: the `AddedTokens`.
        base: the vocabulary's in-graph tokenizer.
        max_tokens: how many ids of each text are needed; None for all.
    """

    def __init__(self, added, base, max_tokens):
        super().__init__()
        self._base, self._pattern = base, added.spaced_pattern
        self._strips = bool(added.stripping)
        # Every other part of a text is a token.
        self._max_parts = None if max_tokens is None else 2 * max_tokens + 1
        self._exact, self._prepared = added.exact, added.prepared

    def prepare(self, text):
        return self._base.prepare(text)

    def __call__(self, text):
        parts = cut(text, self._pattern)[:, : self._max_parts]
        is_added, added = self._added(parts)
        ids = self._base(tf.where(is_added, "", parts.flat_values))
        return parts.with_flat_values(tf.concat([ids, added], axis=1)).merge_dims(1, 2)

    def with_offsets(self, text):
        parts = cut(text, self._pattern)
        is_added, added = self._added(parts)
        between = tf.where(is_added, "", parts.flat_values)
        ids, starts, ends = self._base.with_offsets(between)
        lengths = tf.strings.length(parts.flat_values, unit="UTF8_CHAR")
        contents = self._contents(tf.boolean_mask(parts.flat_values, is_added))
        dropped = tf.boolean_mask(lengths, is_added)
        dropped -= tf.strings.length(contents, unit="UTF8_CHAR")
        begins = origins.starts_of(lengths)
        rows = tf.gather(begins, parts.row_splits[:-1])
        begins = begins[:-1] - tf.repeat(rows, parts.row_lengths())
        first = added.with_flat_values(dropped)
        until = added.with_flat_values(tf.boolean_mask(lengths, is_added))
        found = []
        for values, of_added in ((ids, added), (starts, first), (ends, until)):
            merged = tf.concat([values, of_added], axis=1)
            if of_added is not added:
                shift = tf.repeat(begins, merged.row_lengths())
                merged = merged.with_flat_values(merged.flat_values + shift)
            found.append(parts.with_flat_values(merged).merge_dims(1, 2))
        return tuple(found)

    def _added(self, parts):
        """Returns which parts are tokens, bool `[parts]`, and ragged ids."""
        flat = parts.flat_values
        is_added = tf.strings.regex_full_match(flat, self._pattern)
        found = self._contents(tf.boolean_mask(flat, is_added))
        exact = _looked_up(found, self._exact)
        prepared = _looked_up(self._base.fold(found), self._prepared)
        ids = tf.where(exact < 0, prepared, exact)
        lengths = tf.cast(is_added, tf.int64)
        return is_added, tf.RaggedTensor.from_row_lengths(ids, lengths)

    def _contents(self, found):
        """Drops white space that added tokens do not keep, string `[tokens]`."""
        if not self._strips:
            return found
        # A token of white space alone keeps it.
        spaces = re.escape(SPACES)
        return tf.strings.regex_replace(found, f"^[{spaces}]+([^{spaces}])", r"\1")


def _looked_up(strings, table):
    """Looks up the ids of strings, int32 `[strings]`; -1 for unknown strings."""
    if not table:
        return tf.fill(tf.shape(strings), -1)
    is_equal = strings[:, None] == tf.constant(list(table))
    ids = tf.gather(list(table.values()), tf.argmax(is_equal, axis=1))
    return tf.where(tf.reduce_any(is_equal, axis=1), ids, -1)


_KINDS = {
    "sentencepiece": SentencePieceInGraph,
    "wordpiece": WordPieceInGraph,
    "byte_bpe": ByteBpeInGraph,
}


class InGraphTokenizer(tf.Module):
    """Maps strings to the ids that `tokenizer.encode` gives, in a graph.

    An export of whatever tracks it includes the model or vocabulary. Ids may differ for
    characters newer than the Unicode tables of Python or TensorFlow, whichever are
    older.

    `max_tokens` bounds the cost of a text: only the first `max_tokens *
    CHARACTERS_OF_A_TOKEN` characters, without accents and surplus white space, are
    tokenized. They are enough for `max_tokens` pieces; an unknown word or run of
    characters, which is one token whatever its length, may be that long on average. The
    cut affects only the word that it falls into (no piece crosses a space), which is
    beyond the needed tokens unless it is as long as the bound.

    Args:
        tokenizer: a result of `load_tokenizer`.
        max_tokens: how many ids of each text are needed; None for all. More may come.

    Call: string [batch], UTF-8 (invalid bytes count as U+FFFD), to a `tf.RaggedTensor`
    int32 [batch, (tokens)].
    """

    def __init__(self, tokenizer, max_tokens=None):
        super().__init__()
        self._encode = _KINDS[tokenizer.kind](
            tokenizer, max_tokens and max_tokens * CHARACTERS_OF_A_TOKEN
        )
        # Where quotes are joined, U+0000 marks a place. It is as unknown as U+FFFF.
        self._takes_nul = not getattr(tokenizer, "joins_quotes", False)
        self._spaces_words = tokenizer.as_word("a") != "a"
        if tokenizer.added:
            self._encode = AddedInGraph(tokenizer.added, self._encode, max_tokens)

    def __call__(self, strings):
        return self._encode(self._valid(strings))

    def divided(self, ids):
        """Replaces what the model of a SentencePiece finds, ragged `[batch, (tokens)]`.

        Some of its pieces become several, such as "2000,".
        """
        return self._encode.divided(ids)

    def words(self, strings):
        """Encodes the words of a sentence, in the form of `tokenizer.as_word`.

        Args:
            strings: string `[batch]`, none of them empty.
        """
        return self(" " + strings if self._spaces_words else strings)

    def prepare(self, strings):
        """Prepares string `[batch]` like `tokenizer.prepare`, without `max_tokens`."""
        return self._encode.prepare(self._valid(strings))

    def with_offsets(self, strings):
        """Encodes like `tokenizer.encode_with_offsets`.

        It ignores `max_tokens` and tokenizes the whole text.

        Returns:
            ids, starts, ends: ragged int32 `[batch, (tokens)]`; starts and ends are in
            characters of the text, and the ends are exclusive.
        """
        return self._encode.with_offsets(self._valid(strings))

    def _valid(self, strings):
        text = tf.strings.unicode_transcode(strings, UTF8, UTF8, errors="replace")
        if self._takes_nul:
            return text
        return tf.strings.regex_replace(text, r"\x00", "\uffff")
