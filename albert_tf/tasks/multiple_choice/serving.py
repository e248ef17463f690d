"""Maps questions, contexts and options to features inside a graph."""

import tensorflow as tf

from albert_tf.tasks.multiple_choice.rows import BLANK
from albert_tf.tokenization.in_graph.features import RowsOfTexts
from albert_tf.tokenization.in_graph.features import kept_tokens
from albert_tf.tokenization.in_graph.tokenizer import CHARACTERS_OF_A_TOKEN
from albert_tf.tokenization.in_graph.tokenizer import InGraphTokenizer


class ChoiceFeatures(RowsOfTexts):
    """Maps questions, contexts and options to the features of fine-tuning.

    This is the in-graph twin of `tokenize_questions`.

    Args:
        tokenizer: as returned by `albert_tf.load_tokenizer`.
        max_seq_length: maximum number of tokens in a row, including special tokens.
        max_qa_length: maximum number of tokens in a question with an option, which is
            truncated at the beginning.

    Call: question and context, string `[batch]`, and options, string `[batch,
    choices]`, padded with empty strings. Returns int32 `input_ids`, `input_mask`,
    `segment_ids` `[batch, choices, tokens]`, 0 for padding.
    """

    def __init__(self, tokenizer, max_seq_length, max_qa_length):
        super().__init__(tokenizer)
        self.tokenizer = InGraphTokenizer(
            tokenizer, None if self.ends else max_seq_length
        )
        self.ending_tokenizer = InGraphTokenizer(tokenizer)
        # Only the last tokens count, so keep as many characters as they may have.
        self._most = max_qa_length * CHARACTERS_OF_A_TOKEN
        self.max_seq_length = max_seq_length
        self.max_qa_length = max_qa_length

    def __call__(self, question, context, options):
        places = tf.where(tf.strings.length(options) > 0)  # [rows, 2]
        row = places[:, 0]
        question = self.ending_tokenizer.prepare(question)
        has_blank = tf.strings.regex_full_match(question, f"(?s).*{BLANK}.*")
        # Shorten long questions before each option gets a copy.
        question = _last_characters(question, self._most)
        second = self._endings(
            tf.gather(question, row),
            tf.gather(has_blank, row),
            self.ending_tokenizer.prepare(tf.gather_nd(options, places)),
        )
        first = tf.gather(self.tokenizer(context), row)  # [rows, (tokens)]
        room = self.max_seq_length - self.layout.special(True) - second.row_lengths()
        first = kept_tokens(first, tf.minimum(first.row_lengths(), room), self.ends)
        features = self.rows(first, second)  # [rows, T]
        width = tf.shape(features["input_ids"], tf.int64)[1:]
        shape = tf.concat([tf.shape(options, tf.int64), width], axis=0)
        return {n: tf.scatter_nd(places, v, shape) for n, v in features.items()}

    def _endings(self, question, has_blank, option):
        """Makes ids, ragged `[rows, (tokens)]`, of the strings of `rows.ending`.

        Args:
            question, option: string `[rows]`, prepared; questions may be truncated to
                their last characters.
            has_blank: bool `[rows]`: whether the whole question has a blank.
        """
        option = _last_characters(option, self._most)
        parts = tf.strings.split(question, BLANK)
        # With so many parts, the options alone have all characters that are kept.
        size = tf.strings.length(option, unit="UTF8_CHAR")
        parts = _last(parts, tf.cast(self._most // tf.maximum(size, 1) + 2, tf.int64))
        place = tf.ragged.range(parts.row_lengths()).flat_values
        before = tf.where(place > 0, tf.gather(option, parts.value_rowids()), "")
        filled = parts.with_flat_values(before + parts.flat_values)
        text = tf.where(
            has_blank,
            tf.strings.reduce_join(filled, axis=1),
            question + " " + option,
        )
        ids = self.ending_tokenizer(_last_characters(text, self._most))
        return _last(ids, tf.constant(self.max_qa_length, tf.int64))


def _last(rows, count):
    """Returns the last `count`, int64 `[]` or `[rows]`, items of ragged rows."""
    lengths = rows.row_lengths()
    first = tf.maximum(lengths - count, 0)
    return tf.gather(rows, tf.ragged.range(first, lengths), batch_dims=1)


def _last_characters(text, count):
    least = tf.minimum(tf.strings.length(text, unit="UTF8_CHAR"), count)
    return tf.strings.substr(text, -least, least, unit="UTF8_CHAR")
