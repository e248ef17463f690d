"""The tokenizers inside a TensorFlow graph, for serving and for tf.data."""

import tensorflow as tf
import tensorflow_text as tf_text

from albert_tf.tokenization import in_graph_origins
from albert_tf.tokenization.huggingface.in_graph import AddedInGraph
from albert_tf.tokenization.normalization import CAPITAL_SIGMA
from albert_tf.tokenization.normalization import CHINESE
from albert_tf.tokenization.normalization import PAIRED_QUOTES
from albert_tf.tokenization.normalization import SIGMA
from albert_tf.tokenization.normalization import character_class
from albert_tf.tokenization.normalization import is_accent
from albert_tf.tokenization.normalization import is_mark
from albert_tf.tokenization.normalization import is_moved_accent
from albert_tf.tokenization.normalization import is_punctuation

CHARACTERS_OF_A_TOKEN = 256
"""More than a piece has: 200 at most in WordPiece, 16 in SentencePiece by default."""

_UTF8 = "UTF-8"
# One quotation mark that keeps the places of two characters.
_QUOTE_OF_TWO, _SECOND_OF_TWO = '"\0', "\0"


class InGraphTokenizer(tf.Module):
    """Strings to the ids that `tokenizer.encode` gives, in a graph.

    It is exported with whatever tracks it, the model or vocabulary included.
    Exceptions: U+0000, and characters younger than the Unicode tables of Python or of
    TensorFlow, whichever are older.

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
        kind = _SentencePiece if tokenizer.kind == "sentencepiece" else _WordPiece
        self._encode = kind(
            tokenizer, max_tokens and max_tokens * CHARACTERS_OF_A_TOKEN
        )
        if tokenizer.added_ids:
            self._encode = AddedInGraph(tokenizer, self._encode, max_tokens)

    def __call__(self, strings):
        return self._encode(_valid(strings))

    def prepare(self, strings):
        """String `[batch]` as `tokenizer.prepare` returns it, whatever its length."""
        return self._encode.prepare(_valid(strings))

    def with_offsets(self, strings):
        """Ids, and where they stem from, as `tokenizer.encode_with_offsets`.

        It knows no `max_tokens`: the whole text is tokenized.

        Returns:
            ids, starts, ends: ragged int32 `[batch, (tokens)]`, the latter two in
            characters of the text: the first one, and the one after the last.
        """
        return self._encode.with_offsets(_valid(strings))


def _valid(strings):
    return tf.strings.unicode_transcode(strings, _UTF8, _UTF8, errors="replace")


class _SentencePiece(tf.Module):
    def __init__(self, tokenizer, max_characters):
        super().__init__()
        self._max_characters = max_characters
        self._do_lower_case = tokenizer.do_lower_case
        self._keep_accents = tokenizer.keep_accents
        blank = (f"\\x{{{ord(character):x}}}" for character in sorted(tokenizer.blank))
        self._blank = f"[{''.join(blank)}]"
        self._joins_quotes = tokenizer.joins_quotes
        self._cut, self._cut_with_offsets = _cutters(tokenizer.file_bytes)
        self._counts = tokenizer.replacement_counts
        self._replacements = tokenizer.replacements
        self._part_lengths = tokenizer.replacement_lengths

    def prepare(self, text, max_characters=None):
        text = _single_spaces(self._with_joined_quotes(text, '"'))
        if not self._keep_accents:
            marks = f"{character_class(is_mark)}+"
            text = tf.strings.regex_replace(text, marks, "")
            text = tf_text.normalize_utf8(text, "NFKD")
            text = tf.strings.regex_replace(text, marks, "")
        return self._lowered(_first_characters(text, max_characters))

    fold = prepare

    def __call__(self, text):
        text = self.prepare(text, self._max_characters)
        ids = self._cut(text)
        counts = tf.gather(self._counts, ids.flat_values)  # [all tokens]
        kept = tf.sequence_mask(counts, self._replacements.shape[1])
        replaced = tf.boolean_mask(tf.gather(self._replacements, ids.flat_values), kept)
        ends = tf.concat([[0], tf.cumsum(tf.cast(counts, tf.int64))], axis=0)
        return tf.RaggedTensor.from_row_splits(
            replaced, tf.gather(ends, ids.row_splits), validate=False
        )

    def _with_joined_quotes(self, text, quote):
        if not self._joins_quotes:
            return text
        return tf.strings.regex_replace(text, PAIRED_QUOTES, quote)

    def _kept(self, characters):
        """What becomes of each character, one by one, before letters are lowered."""
        if self._joins_quotes:
            second = tf.equal(characters, _SECOND_OF_TWO)
            characters = tf.where(second, "", characters)
        if self._keep_accents:
            return characters
        decomposed = tf_text.normalize_utf8(characters, "NFKD")
        return tf.strings.regex_replace(decomposed, f"{character_class(is_mark)}+", "")

    def _lowered(self, text):
        return tf.strings.lower(text, encoding="utf-8") if self._do_lower_case else text

    def with_offsets(self, text):
        text = self._with_joined_quotes(text, _QUOTE_OF_TWO)
        characters = tf.strings.unicode_split(text, _UTF8)
        flat = characters.flat_values  # [C]
        is_space = tf.strings.regex_full_match(flat, character_class(str.isspace))
        kept = tf.where(is_space, "", self._kept(flat))
        # The lower case of U+0130 has two characters.
        counts = tf.strings.length(self._lowered(kept), unit="UTF8_CHAR")
        space_before, first, last = in_graph_origins.spaced_origins(
            characters, is_space, tf.cast(counts, tf.int64)
        )
        kept = tf.where(space_before, " " + kept, kept)
        rows = in_graph_origins.whole_rows(
            characters.row_splits, counts + tf.cast(space_before, tf.int32)
        )
        kept = characters.with_flat_values(kept)
        text = self._lowered(tf.strings.reduce_join(kept, axis=1))
        ids, starts, ends = self._cut_with_offsets(text)
        bytes_ = in_graph_origins.starts_of(tf.strings.length(text))
        bytes_ = tf.cast(bytes_, tf.int64)
        starts, ends = (
            in_graph_origins.character_places(text, tf.cast(places, tf.int64), bytes_)
            for places in (starts, ends)
        )
        prepared = tf.strings.unicode_split(text, _UTF8).flat_values  # [P]
        is_blank = tf.strings.regex_full_match(prepared, self._blank)
        starts, ends = in_graph_origins.without(is_blank, starts, ends)
        return self._originals(ids, starts, ends, first, last, rows)

    def _originals(self, ids, starts, ends, first, last, rows):
        """Replaces what is several pieces, and takes places to the original text."""
        flat = ids.flat_values
        counts = tf.gather(self._counts, flat)
        lengths = tf.cast(tf.gather(self._part_lengths, flat), tf.int64)  # [T, parts]
        is_shared = (counts > 1) & (tf.reduce_sum(lengths, axis=1) == ends - starts)
        inner_ends = starts[:, None] + tf.cumsum(lengths, axis=1)
        inner_starts = inner_ends - lengths
        is_shared = is_shared[:, None]
        kept = tf.sequence_mask(counts, self._replacements.shape[1])
        starts = tf.boolean_mask(
            tf.where(is_shared, inner_starts, starts[:, None]), kept
        )
        ends = tf.boolean_mask(tf.where(is_shared, inner_ends, ends[:, None]), kept)
        ends_of_ids = in_graph_origins.starts_of(tf.cast(counts, tf.int64))
        splits = tf.gather(ends_of_ids, ids.row_splits)
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
        return in_graph_origins.ragged(splits, replaced, at, until)


def _cutters(model):
    """`tokenize` and `tokenize_with_offsets` of tensorflow-text, for string `[batch]`.

    Their model belongs to an operation, and is gone with it: one that is called eagerly
    is dropped where TensorFlow clears its caches, as each `tf.random.set_seed` does, or
    with another tokenizer of the same model. One in a function comes back with it.
    """
    spec = [tf.TensorSpec([None], tf.string)]

    @tf.function(input_signature=spec, autograph=False)
    def cut(text):
        return tf_text.SentencepieceTokenizer(model, out_type=tf.int32).tokenize(text)

    @tf.function(input_signature=spec, autograph=False)
    def cut_with_offsets(text):
        tokenizer = tf_text.SentencepieceTokenizer(model, out_type=tf.int32)
        return tokenizer.tokenize_with_offsets(text)

    # Plain functions: an export holds a tracked one, and the model, if unused, too.
    return (lambda text: cut(text)), (lambda text: cut_with_offsets(text))


class _WordPiece(tf.Module):
    def __init__(self, tokenizer, max_characters):
        super().__init__()
        self._max_characters = max_characters
        self._do_lower_case = tokenizer.do_lower_case
        self._strip_accents = tokenizer.strip_accents
        self._lowers_alone = tokenizer.rules.as_tokenizers
        self._removed = character_class(tokenizer.is_removed)
        self._max_word_length = tokenizer.max_word_length
        self._unknown = tokenizer.pieces[tokenizer.unk_id]
        self._tokenizer = tf_text.FastWordpieceTokenizer(
            vocab=tokenizer.distinct_pieces,
            unknown_token=self._unknown,
            token_out_type=tf.int32,
            max_bytes_per_word=4 * self._max_word_length,
            no_pretokenization=True,
        )

    def prepare(self, text):
        return text

    def fold(self, text):
        return self._normalized(_single_spaces(text))

    def __call__(self, text):
        return self._tokenizer.tokenize(self._words(text)[0]).merge_dims(1, 2)

    def _words(self, text, bounded=True):
        """Ragged string `[batch, (words)]`, and the number of characters of each."""
        text = tf.strings.regex_replace(text, f"{self._removed}+", "")
        text = tf.strings.regex_replace(text, CHINESE, r" \0 ")
        if self._strip_accents:
            moved = f"{character_class(is_moved_accent)}+"
            text = tf.strings.regex_replace(text, moved, "")
        text = _single_spaces(text)
        if bounded:
            text = _first_characters(text, self._max_characters)
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
            text = _lowered(text, self._lowers_alone)
        if self._strip_accents:
            text = tf_text.normalize_utf8(text, "NFD")
            text = tf.strings.regex_replace(text, f"{character_class(is_accent)}+", "")
        return text

    def with_offsets(self, text):
        words, lengths = self._words(text, bounded=False)
        flat = words.flat_values
        ids, starts, ends = self._tokenizer.tokenize_with_offsets(flat)
        bytes_ = tf.cast(in_graph_origins.starts_of(tf.strings.length(flat)), tf.int64)
        within = in_graph_origins.starts_of(
            tf.cast(tf.strings.length(flat, unit="UTF8_CHAR"), tf.int64)
        )
        word = ids.value_rowids()
        starts, ends = (
            in_graph_origins.character_places(flat, tf.cast(places, tf.int64), bytes_)
            - tf.gather(within, word)
            for places in (starts, ends)
        )
        # What stands for a word that is too long has another length.
        is_long = lengths > self._max_word_length
        ends = tf.where(tf.gather(is_long, word), tf.gather(lengths, word), ends)
        first = tf.gather(in_graph_origins.starts_of(lengths), word)
        origins = self._origins(text)
        splits = tf.gather(ids.row_splits, words.row_splits)
        starts = tf.gather(origins, first + starts)
        ends = tf.gather(origins, first + ends - 1) + 1
        return in_graph_origins.ragged(splits, ids.flat_values, starts, ends)

    def _origins(self, text):
        """Where each character of all words stands in its text, int64 `[P]`."""
        characters = tf.strings.unicode_split(text, _UTF8)
        kept = characters.flat_values
        is_dropped = tf.strings.regex_full_match(kept, self._removed)
        kept = self._normalized(tf.where(is_dropped, "", kept))
        kept = tf.strings.regex_replace(kept, f"{character_class(str.isspace)}+", "")
        counts = tf.strings.length(kept, unit="UTF8_CHAR")
        return tf.repeat(tf.ragged.range(characters.row_lengths()).values, counts)


def _lowered(text, one_by_one):
    """The twin of `normalization.lowered`."""
    if one_by_one:
        text = tf.strings.regex_replace(text, CAPITAL_SIGMA, SIGMA)
    return tf.strings.lower(text, encoding="utf-8")


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
