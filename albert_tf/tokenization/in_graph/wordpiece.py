"""WordPiece with the official preprocessing, in a graph."""

import tensorflow as tf

from albert_tf.tokenization.in_graph import origins
from albert_tf.tokenization.in_graph.texts import UTF8
from albert_tf.tokenization.in_graph.texts import first_characters
from albert_tf.tokenization.in_graph.texts import lowered
from albert_tf.tokenization.in_graph.texts import single_spaces
from albert_tf.tokenization.in_graph.texts import tensorflow_text
from albert_tf.tokenization.normalization import CHINESE
from albert_tf.tokenization.normalization import character_class
from albert_tf.tokenization.normalization import is_accent
from albert_tf.tokenization.normalization import is_moved_accent
from albert_tf.tokenization.normalization import is_punctuation


class WordPieceInGraph(tf.Module):
    """A `WordPieceTokenizer` for string `[batch]`; see `InGraphTokenizer`."""

    def __init__(self, tokenizer, max_characters):
        super().__init__()
        self._max_characters = max_characters
        self._do_lower_case = tokenizer.do_lower_case
        self._strip_accents = tokenizer.strip_accents
        self._lowers_alone = tokenizer.rules.as_tokenizers
        self._removed = character_class(tokenizer.is_removed)
        self._max_word_length = tokenizer.max_word_length
        self._unknown = tokenizer.pieces[tokenizer.unk_id]
        self._tokenizer = tensorflow_text().FastWordpieceTokenizer(
            vocab=tokenizer.distinct_pieces,
            unknown_token=self._unknown,
            token_out_type=tf.int32,
            max_bytes_per_word=4 * self._max_word_length,
            no_pretokenization=True,
        )

    def prepare(self, text):
        return text

    def fold(self, text):
        return self._normalized(single_spaces(text))

    def __call__(self, text):
        return self._tokenizer.tokenize(self._words(text)[0]).merge_dims(1, 2)

    def _words(self, text, bounded=True):
        """Returns ragged string `[batch, (words)]`, and each word's length."""
        text = tf.strings.regex_replace(text, f"{self._removed}+", "")
        text = tf.strings.regex_replace(text, CHINESE, r" \0 ")
        if self._strip_accents:
            moved = f"{character_class(is_moved_accent)}+"
            text = tf.strings.regex_replace(text, moved, "")
        text = single_spaces(text)
        if bounded:
            text = first_characters(text, self._max_characters)
        words = _split(text)
        # A word at a time, because the lower case of a sigma depends on its end.
        words = words.with_flat_values(self._normalized(words.flat_values))
        text = tf.strings.reduce_join(words, axis=1, separator=" ")
        punctuation = character_class(is_punctuation)
        words = _split(tf.strings.regex_replace(text, punctuation, r" \0 "))
        flat = words.flat_values
        lengths = tf.strings.length(flat, unit="UTF8_CHAR")
        flat = tf.where(lengths > self._max_word_length, self._unknown, flat)
        return words.with_flat_values(flat), tf.cast(lengths, tf.int64)

    def _normalized(self, text):
        if self._do_lower_case:
            text = lowered(text, self._lowers_alone)
        if self._strip_accents:
            text = tensorflow_text().normalize_utf8(text, "NFD")
            text = tf.strings.regex_replace(text, f"{character_class(is_accent)}+", "")
        return text

    def with_offsets(self, text):
        words, lengths = self._words(text, bounded=False)
        flat = words.flat_values
        ids, starts, ends = self._tokenizer.tokenize_with_offsets(flat)
        within = origins.starts_of(
            tf.cast(tf.strings.length(flat, unit="UTF8_CHAR"), tf.int64)
        )
        word = ids.value_rowids()
        starts, ends = (
            places - tf.gather(within, word)
            for places in origins.character_places(flat, starts, ends)
        )
        # What stands for a word that is too long has another length.
        is_long = lengths > self._max_word_length
        ends = tf.where(tf.gather(is_long, word), tf.gather(lengths, word), ends)
        first = tf.gather(origins.starts_of(lengths), word)
        from_text = self._origins(text)
        splits = tf.gather(ids.row_splits, words.row_splits)
        starts = tf.gather(from_text, first + starts)
        ends = tf.gather(from_text, first + ends - 1) + 1
        return origins.ragged(splits, ids.flat_values, starts, ends)

    def _origins(self, text):
        """Finds the place of all words' characters in their text, int64 `[P]`."""
        characters = tf.strings.unicode_split(text, UTF8)
        kept = characters.flat_values
        is_dropped = tf.strings.regex_full_match(kept, self._removed)
        kept = self._normalized(tf.where(is_dropped, "", kept))
        kept = tf.strings.regex_replace(kept, f"{character_class(str.isspace)}+", "")
        counts = tf.strings.length(kept, unit="UTF8_CHAR")
        return tf.repeat(tf.ragged.range(characters.row_lengths()).values, counts)


def _split(text):
    """Splits at white space: string [batch] to ragged [batch, (words)]."""
    return tf.strings.split(single_spaces(text))
