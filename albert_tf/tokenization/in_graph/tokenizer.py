"""The tokenizers inside a TensorFlow graph, for serving and for tf.data."""

import tensorflow as tf

from albert_tf.tokenization.in_graph.added_tokens import AddedInGraph
from albert_tf.tokenization.in_graph.byte_bpe import ByteBpeInGraph
from albert_tf.tokenization.in_graph.sentencepiece import SentencePieceInGraph
from albert_tf.tokenization.in_graph.texts import UTF8
from albert_tf.tokenization.in_graph.wordpiece import WordPieceInGraph

CHARACTERS_OF_A_TOKEN = 256
"""More than a piece has: 200 at most in WordPiece, 16 in SentencePiece by default."""

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

    Call: string [batch], UTF-8 (invalid bytes and, but for byte-level BPE, U+0000 count
    as U+FFFD), to a `tf.RaggedTensor` int32 [batch, (tokens)].
    """

    def __init__(self, tokenizer, max_tokens=None):
        super().__init__()
        self._encode = _KINDS[tokenizer.kind](
            tokenizer, max_tokens and max_tokens * CHARACTERS_OF_A_TOKEN
        )
        self._takes_nul = tokenizer.kind == "byte_bpe"
        self._spaces_words = tokenizer.as_word("a") != "a"
        if tokenizer.added_ids:
            self._encode = AddedInGraph(tokenizer, self._encode, max_tokens)

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
        return tf.strings.regex_replace(text, r"\x00", "\ufffd")
