"""The tokenizers inside a TensorFlow graph, for serving and for tf.data."""

import tensorflow as tf
import tensorflow_text as tf_text

from albert_tf.tokenization.normalization import CHINESE
from albert_tf.tokenization.normalization import character_class
from albert_tf.tokenization.normalization import is_accent
from albert_tf.tokenization.normalization import is_mark
from albert_tf.tokenization.normalization import is_moved_accent
from albert_tf.tokenization.normalization import is_punctuation
from albert_tf.tokenization.normalization import is_removed
from albert_tf.tokenization.wordpiece import MAX_WORD_LENGTH

CHARACTERS_OF_A_TOKEN = 256
"""More than a piece has: 200 at most in WordPiece, 16 in SentencePiece by default."""

_UTF8 = "UTF-8"


class InGraphTokenizer(tf.Module):
    """Strings to the ids that `tokenizer.encode` gives, in a graph.

    It is exported with whatever tracks it, the model or vocabulary included.
    Exceptions: U+0000, and characters younger than the Unicode tables of Python or
    of TensorFlow, whichever are older.

    With `max_tokens`, what a text costs is bounded. Of the text without its accents
    and surplus white space, the first `max_tokens * CHARACTERS_OF_A_TOKEN` characters
    are tokenized. They hold `max_tokens` tokens of pieces; an unknown word or run of
    characters, which is one token whatever its length, may be as long as that on
    average. The cut can alter the word that it falls into only (no piece reaches over
    a space), which is beyond the tokens asked for unless it is as long as the bound.

    Args:
        tokenizer: a `SentencePieceTokenizer` or a `WordPieceTokenizer`.
        max_tokens: how many ids of each text are of use; None: all. More may come.

    Call: string [batch], UTF-8 (invalid bytes count as U+FFFD), to a
    `tf.RaggedTensor` int32 [batch, (tokens)].
    """

    def __init__(self, tokenizer, max_tokens=None):
        super().__init__()
        sentencepiece = tokenizer.kind == "sentencepiece"
        self._encode = (_SentencePiece if sentencepiece else _WordPiece)(
            tokenizer,
            None if max_tokens is None else max_tokens * CHARACTERS_OF_A_TOKEN,
        )

    def __call__(self, strings):
        text = tf.strings.unicode_transcode(strings, _UTF8, _UTF8, errors="replace")
        return self._encode(text)


class _SentencePiece(tf.Module):
    def __init__(self, tokenizer, max_characters):
        super().__init__()
        self._max_characters = max_characters
        self._do_lower_case = tokenizer.do_lower_case
        self._tokenizer = tf_text.SentencepieceTokenizer(
            model=tokenizer.file_bytes, out_type=tf.int32
        )
        self._counts = tokenizer.replacement_counts
        self._replacements = tokenizer.replacements

    def __call__(self, text):
        text = _single_spaces(text)
        marks = f"{character_class(is_mark)}+"
        text = tf.strings.regex_replace(text, marks, "")
        text = tf_text.normalize_utf8(text, "NFKD")
        text = tf.strings.regex_replace(text, marks, "")
        text = _first_characters(text, self._max_characters)
        if self._do_lower_case:
            text = tf.strings.lower(text, encoding="utf-8")
        ids = self._tokenizer.tokenize(text)
        counts = tf.gather(self._counts, ids.flat_values)  # [all tokens]
        kept = tf.sequence_mask(counts, self._replacements.shape[1])
        replaced = tf.boolean_mask(tf.gather(self._replacements, ids.flat_values), kept)
        ends = tf.concat([[0], tf.cumsum(tf.cast(counts, tf.int64))], axis=0)
        return tf.RaggedTensor.from_row_splits(
            replaced, tf.gather(ends, ids.row_splits), validate=False
        )


class _WordPiece(tf.Module):
    def __init__(self, tokenizer, max_characters):
        super().__init__()
        self._max_characters = max_characters
        self._do_lower_case = tokenizer.do_lower_case
        self._unknown = tokenizer.pieces[tokenizer.unk_id]
        self._tokenizer = tf_text.FastWordpieceTokenizer(
            vocab=tokenizer.pieces,
            unknown_token=self._unknown,
            token_out_type=tf.int32,
            max_bytes_per_word=4 * MAX_WORD_LENGTH,
            no_pretokenization=True,
        )

    def __call__(self, text):
        text = tf.strings.regex_replace(text, f"{character_class(is_removed)}+", "")
        text = tf.strings.regex_replace(text, CHINESE, r" \0 ")
        if self._do_lower_case:
            moved = f"{character_class(is_moved_accent)}+"
            text = tf.strings.regex_replace(text, moved, "")
        text = _first_characters(_single_spaces(text), self._max_characters)
        words = _split(text)
        if self._do_lower_case:
            # A word at a time, because the lower case of a sigma depends on its end.
            flat = tf.strings.lower(words.flat_values, encoding="utf-8")
            flat = tf_text.normalize_utf8(flat, "NFD")
            flat = tf.strings.regex_replace(flat, f"{character_class(is_accent)}+", "")
            words = words.with_flat_values(flat)
        text = tf.strings.reduce_join(words, axis=1, separator=" ")
        punctuation = character_class(is_punctuation)
        words = _split(tf.strings.regex_replace(text, punctuation, r" \0 "))
        flat = words.flat_values
        too_long = tf.strings.length(flat, unit="UTF8_CHAR") > MAX_WORD_LENGTH
        words = words.with_flat_values(tf.where(too_long, self._unknown, flat))
        return self._tokenizer.tokenize(words).merge_dims(1, 2)


def _split(text):
    """Splits at white space: string [batch] to ragged [batch, (words)]."""
    return tf.strings.split(_single_spaces(text))


def _single_spaces(text):
    white_space = character_class(str.isspace)
    return tf.strings.strip(tf.strings.regex_replace(text, f"{white_space}+", " "))


def _first_characters(text, count):
    if count is None:
        return text
    return tf.strings.substr(text, 0, count, unit="UTF8_CHAR")
