"""SentencePiece with the official preprocessing, in a graph."""

import functools

import tensorflow as tf

from albert_tf.tokenization.in_graph import origins
from albert_tf.tokenization.in_graph.texts import UTF8
from albert_tf.tokenization.in_graph.texts import first_characters
from albert_tf.tokenization.in_graph.texts import lowered
from albert_tf.tokenization.in_graph.texts import single_spaces
from albert_tf.tokenization.in_graph.texts import tensorflow_text
from albert_tf.tokenization.normalization import PAIRED_QUOTES
from albert_tf.tokenization.normalization import character_class
from albert_tf.tokenization.normalization import marks_of

# One quotation mark that occupies two characters.
_QUOTE_OF_TWO, _SECOND_OF_TWO = '"\0', "\0"


class SentencePieceInGraph(tf.Module):
    """A `SentencePieceTokenizer` for string `[batch]`; see `InGraphTokenizer`."""

    def __init__(self, tokenizer, max_characters):
        super().__init__()
        self._max_characters = max_characters
        self._do_lower_case = tokenizer.do_lower_case
        self._keep_accents = tokenizer.keep_accents
        self._lowers_alone = tokenizer.rules.as_tokenizers
        self._marks = f"{character_class(marks_of(tokenizer.rules.as_tokenizers))}+"
        blank = (f"\\x{{{ord(character):x}}}" for character in sorted(tokenizer.blank))
        self._blank = f"[{''.join(blank)}]"
        self._joins_quotes = tokenizer.joins_quotes
        self._cut = _in_a_function("tokenize", tokenizer.file_bytes)
        self._cut_with_offsets = _in_a_function(
            "tokenize_with_offsets", tokenizer.file_bytes
        )
        self._counts = tokenizer.replacement_counts
        self._replacements = tokenizer.replacements
        self._part_lengths = tokenizer.replacement_lengths

    def prepare(self, text, max_characters=None):
        text = single_spaces(self._with_joined_quotes(text, '"'))
        if not self._keep_accents:
            text = tf.strings.regex_replace(text, self._marks, "")
            text = tensorflow_text().normalize_utf8(text, "NFKD")
            text = tf.strings.regex_replace(text, self._marks, "")
        return self._lowered(first_characters(text, max_characters))

    fold = prepare

    def __call__(self, text):
        return self.divided(self._cut(self.prepare(text, self._max_characters)))

    def divided(self, ids):
        """Puts other ids in the places of some, ragged int32 `[batch, (tokens)]`."""
        counts = tf.gather(self._counts, ids.flat_values)  # [all tokens]
        kept = tf.sequence_mask(counts, self._replacements.shape[1])
        replaced = tf.boolean_mask(tf.gather(self._replacements, ids.flat_values), kept)
        splits = origins.whole_rows(ids.row_splits, counts)
        return tf.RaggedTensor.from_row_splits(replaced, splits, validate=False)

    def _with_joined_quotes(self, text, quote):
        if not self._joins_quotes:
            return text
        return tf.strings.regex_replace(text, PAIRED_QUOTES, quote)

    def _kept(self, characters):
        """Returns each character's replacement, before letters are lowered."""
        if self._joins_quotes:
            second = tf.equal(characters, _SECOND_OF_TWO)
            characters = tf.where(second, "", characters)
        if self._keep_accents:
            return characters
        decomposed = tensorflow_text().normalize_utf8(characters, "NFKD")
        return tf.strings.regex_replace(decomposed, self._marks, "")

    def _lowered(self, text):
        return lowered(text, self._lowers_alone) if self._do_lower_case else text

    def with_offsets(self, text):
        text = self._with_joined_quotes(text, _QUOTE_OF_TWO)
        characters = tf.strings.unicode_split(text, UTF8)
        flat = characters.flat_values  # [C]
        is_space = tf.strings.regex_full_match(flat, character_class(str.isspace))
        kept = tf.where(is_space, "", self._kept(flat))
        # The lower case of U+0130 has two characters.
        counts = tf.strings.length(self._lowered(kept), unit="UTF8_CHAR")
        space_before, first, last = origins.spaced_origins(
            characters, is_space, tf.cast(counts, tf.int64)
        )
        kept = tf.where(space_before, " " + kept, kept)
        rows = origins.whole_rows(
            characters.row_splits, counts + tf.cast(space_before, tf.int32)
        )
        kept = characters.with_flat_values(kept)
        text = self._lowered(tf.strings.reduce_join(kept, axis=1))
        ids, starts, ends = self._cut_with_offsets(text)
        starts, ends = origins.character_places(text, starts, ends)
        prepared = tf.strings.unicode_split(text, UTF8).flat_values  # [P]
        is_blank = tf.strings.regex_full_match(prepared, self._blank)
        starts, ends = origins.without(is_blank, starts, ends)
        return self._originals(ids, starts, ends, first, last, rows)

    def _originals(self, ids, starts, ends, first, last, rows):
        """Replaces ids of several pieces, and maps places to the original text."""
        flat = ids.flat_values
        counts = tf.gather(self._counts, flat)
        lengths = tf.cast(tf.gather(self._part_lengths, flat), tf.int64)  # [T, parts]
        is_shared = tf.reduce_sum(lengths, axis=1) == ends - starts
        inner_ends = starts[:, None] + tf.cumsum(lengths, axis=1)
        inner_starts = inner_ends - lengths
        is_shared = is_shared[:, None]
        kept = tf.sequence_mask(counts, self._replacements.shape[1])
        starts = tf.boolean_mask(
            tf.where(is_shared, inner_starts, starts[:, None]), kept
        )
        ends = tf.boolean_mask(tf.where(is_shared, inner_ends, ends[:, None]), kept)
        splits = origins.whole_rows(ids.row_splits, counts)
        # An empty stretch is where the next character is, or after the text's last.
        lengths = splits[1:] - splits[:-1]
        row_end = tf.repeat(rows[1:], lengths)
        size = tf.size(first, tf.int64)
        at = tf.gather(first, tf.clip_by_value(starts, 0, size - 1))
        behind = tf.gather(last, tf.clip_by_value(row_end - 1, 0, size - 1))
        at = tf.where(starts < row_end, at, behind)
        until = tf.gather(last, tf.clip_by_value(ends - 1, 0, size - 1))
        until = tf.where(starts < ends, until, at)
        replaced = tf.boolean_mask(tf.gather(self._replacements, flat), kept)
        return origins.ragged(splits, replaced, at, until)


def _step(method, model, text):
    tokenizer = tensorflow_text().SentencepieceTokenizer(model, out_type=tf.int32)
    return getattr(tokenizer, method)(text)


def _in_a_function(method, model):
    """Wraps a method of tensorflow-text for string `[batch]`, with a serialized model.

    The model belongs to an operation and disappears with it: TensorFlow drops an eager
    operation when it clears its caches, as each `tf.random.set_seed` does, or with
    another tokenizer of the same model. A function restores its operations.
    """
    # A partial has no code by which TensorFlow would count the functions of several
    # tokenizers as one, and warn that it is traced again and again.
    function = tf.function(
        functools.partial(_step, method, model),
        input_signature=[tf.TensorSpec([None], tf.string)],
        autograph=False,
    )
    # A plain function: an export holds a tracked one, and the model, if unused, too.
    return lambda text: function(text)
