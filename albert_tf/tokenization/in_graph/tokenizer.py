"""The tokenizers, with added tokens, inside a TensorFlow graph: serving and tf.data."""

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
"""More than a piece has: 200 at most in WordPiece, 16 in SentencePiece by default."""


class AddedInGraph(tf.Module):
    """Finds added tokens in strings `[batch]`; `base` tokenizes the text between.

    Args:
        added: the `AddedTokens`.
        base: the tokenizer of the vocabulary in a graph.
        max_tokens: how many ids of each text are of use; None: all.
    """

    def __init__(self, added, base, max_tokens):
        super().__init__()
        self._base, self._pattern = base, added.spaced_pattern
        self._strips = bool(added.stripping)
        # Of two neighbours among the parts of a text, one is a token.
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
        """Marks tokens, bool `[parts]`, and gives ids, ragged `[parts, (ids)]`."""
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
        return tf.strings.regex_replace(found, f"^[{re.escape(SPACES)}]+", "")


def _looked_up(strings, table):
    """Looks up the ids of strings, int32 `[strings]`; -1 where the dict has none."""
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

    It is exported with whatever tracks it, the model or vocabulary included.
    Exceptions: characters younger than the Unicode tables of Python or of TensorFlow,
    whichever are older.

    With `max_tokens`, the cost of a text is bounded. Of the text without its accents
    and surplus white space, the first `max_tokens * CHARACTERS_OF_A_TOKEN` characters
    are tokenized. They hold `max_tokens` tokens of pieces; an unknown word or run of
    characters, which is one token whatever its length, may be as long as that on
    average. The cut can alter the word that it falls into only (no piece reaches over
    a space), which is beyond the tokens asked for unless it is as long as the bound.

    Args:
        tokenizer: of `load_tokenizer`.
        max_tokens: how many ids of each text are of use; None: all. More may come.

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

    def words(self, strings):
        """Encodes words of sentences that were cut, as `tokenizer.as_word` has them.

        Args:
            strings: string `[batch]`, none of them empty.
        """
        return self(" " + strings if self._spaces_words else strings)

    def prepare(self, strings):
        """Prepares string `[batch]` as `tokenizer.prepare`, whatever its length."""
        return self._encode.prepare(self._valid(strings))

    def with_offsets(self, strings):
        """Ids, and where they stem from, as `tokenizer.encode_with_offsets`.

        It knows no `max_tokens`: the whole text is tokenized.

        Returns:
            ids, starts, ends: ragged int32 `[batch, (tokens)]`, the latter two in
            characters of the text: the first one, and the one after the last.
        """
        return self._encode.with_offsets(self._valid(strings))

    def _valid(self, strings):
        text = tf.strings.unicode_transcode(strings, UTF8, UTF8, errors="replace")
        if self._takes_nul:
            return text
        return tf.strings.regex_replace(text, r"\x00", "\uffff")
