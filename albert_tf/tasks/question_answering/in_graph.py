"""Makes windows and ranks answers inside a TensorFlow graph, for serving.

The in-graph twin of `windows.py` and `answers.py`, with the same results.
Shapes: B questions, W windows, T tokens per window, C candidates, K answers.
"""

import math

import tensorflow as tf

from albert_tf.tokenization.in_graph.features import RowsOfTexts
from albert_tf.tokenization.in_graph.origins import pair_numbers
from albert_tf.tokenization.in_graph.origins import stretches
from albert_tf.tokenization.in_graph.origins import text_numbers
from albert_tf.tokenization.in_graph.origins import without
from albert_tf.tokenization.in_graph.tokenizer import InGraphTokenizer
from albert_tf.tokenization.in_graph.windows import InGraphLayout
from albert_tf.tokenization.in_graph.windows import pick
from albert_tf.tokenization.normalization import WHITE_SPACE

_MASKED = -1e30
_BLANKS = list(map(ord, WHITE_SPACE))


class WindowFeatures(RowsOfTexts):
    """Maps strings to windows.

    Args:
        tokenizer: the result of `albert_tf.load_tokenizer`.
        sizes: a `WindowSizes`.
        min_tokens: the minimum padded length of windows.

    Call: question and context, string `[batch]`. Returns the windows' features, int32
    `input_ids`, `input_mask`, `segment_ids` `[W, T]`.
    """

    def __init__(self, tokenizer, sizes, min_tokens=1):
        super().__init__(tokenizer, tokenizer.layout.padded_after)
        self.tokenizer = InGraphTokenizer(tokenizer, max(sizes.max_query_length, 1))
        self.sizes = sizes
        self.min_tokens = min_tokens

    def __call__(self, question, context):
        return self.windows(question, context)[0]

    def windows(self, question, context):
        """Makes the windows of the strings of a call.

        Returns:
            The features, int32 `[W, T]` by name; the `InGraphLayout`; and the first
            character that each token stems from and the one after its last, int32
            `[W, T]`, 0 where there is no paragraph.
        """
        asked = self.tokenizer(question)  # [B, (tokens)]
        kept = tf.minimum(asked.row_lengths(), self.sizes.max_query_length)  # [B]
        ids, starts, ends = self.tokenizer.with_offsets(context)
        layout = InGraphLayout(
            self.layout,
            kept + self.layout.special(True),
            ids,
            self.sizes.max_seq_length,
            self.sizes.doc_stride,
            self.min_tokens,
        )
        kept = tf.gather(kept, layout.text)
        between = self.layout.between
        if self.layout.cls_last:
            first_lengths = layout.tokens + between  # before the question
            place = layout.position - first_lengths[:, None]
        else:
            first_lengths = 1 + kept + between  # before the text
            place = layout.position - 1
        in_question = (place >= 0) & (place < kept[:, None])  # [W, T]
        begins = tf.gather(asked.row_starts(), layout.text)[:, None]
        input_ids = pick(
            asked.flat_values,
            begins + place,
            in_question,
            layout.special_ids(self.cls_id, self.sep_id),
        )
        input_ids = layout.pick(ids.flat_values, input_ids)
        nothing = tf.zeros_like(input_ids)
        features = layout.features(input_ids, first_lengths, self.pad_id)
        places = (layout.pick(v.flat_values, nothing) for v in (starts, ends))
        return features, layout, *places


def answers(
    layout, starts, ends, beams, context, n_best_size, max_answer_length, top_k
):
    """Finds the best answers to each question, as `answers.predict` ranks them.

    Args:
        layout, starts, ends: see `WindowFeatures.windows`.
        beams: the first four tensors of `answers.beams_of_logits`.
        context: string `[B]`, valid UTF-8.
        n_best_size: number of distinct candidates in the softmax.
        max_answer_length: maximum number of tokens in an answer.
        top_k: number of answers to return, at most `n_best_size`.

    Returns:
        A dict: `answers` string, `scores` float32 (probabilities), `start` and `end`
        int32, all `[B, top_k]`, padded with "" and 0; and `best`, float64 `[B]`, the
        score of the first answer, -1e30 without answers.
    """
    codes = tf.strings.unicode_decode(context, "UTF-8")  # [B, (characters)]
    question, first, last, score = _ranked(
        layout, (starts, ends), beams, codes, max_answer_length
    )
    batch = codes.nrows()

    def rows(values, width):
        return tf.RaggedTensor.from_value_rowids(values, question, batch)[:, :width]

    def table(ragged, filling, width):
        return ragged.to_tensor(filling, shape=[None, width])

    scores = table(rows(score, n_best_size), -math.inf, n_best_size)
    possible = tf.maximum(scores, _MASKED)  # [B, n]
    shares = tf.where(scores > _MASKED, tf.nn.softmax(possible), 0)
    first, last = rows(first, top_k), rows(last, top_k)
    return {
        "answers": table(stretches(codes, first, last), "", top_k),
        "scores": tf.cast(shares[:, :top_k], tf.float32),
        "start": table(first, 0, top_k),
        "end": table(last, 0, top_k),
        "best": possible[:, 0],
    }


def _ranked(layout, characters, beams, codes, max_answer_length):
    """Lists candidates of different text, by question, best first: `[C]` each.

    Returns:
        Question, int64; first and last character, int32; score.
    """
    window, *tokens, score = _stretches(layout, beams, max_answer_length)
    question = tf.gather(layout.text, window)
    row_starts = tf.gather(codes.row_starts(), question)
    first, last = (
        tf.cast(tf.gather_nd(places, tf.stack([window, token], axis=1)), tf.int64)
        for places, token in zip(characters, tokens, strict=True)
    )
    is_space = tf.reduce_any(codes.flat_values[:, None] == _BLANKS, axis=1)
    first, last = without(is_space, first + row_starts, last + row_starts)
    # By question, then score, then the order in which the official code lists them.
    order = tf.argsort(score, direction="DESCENDING", stable=True)
    order = tf.gather(order, tf.argsort(tf.gather(question, order), stable=True))
    question, first, last, score, row_starts = (
        tf.gather(values, order)
        for values in (question, first, last, score, row_starts)
    )
    text = text_numbers(codes.flat_values, first, last)
    is_new = _is_first_of_its_kind(pair_numbers(question, text))
    first, last = (tf.cast(places - row_starts, tf.int32) for places in (first, last))
    return [
        tf.boolean_mask(values, is_new) for values in (question, first, last, score)
    ]


def _stretches(layout, beams, max_answer_length):
    """Lists possible answers: window, start, end, int64; score, float64; `[C]`."""
    starts, start_scores, ends, end_scores = beams
    starts, ends = tf.cast(starts, tf.int64), tf.cast(ends, tf.int64)
    count = tf.shape(starts, tf.int64)[0]
    row = tf.range(count)[:, None, None]  # [W, 1, 1]

    def look_up(table, places):
        row_of = tf.broadcast_to(row, tf.shape(places))
        return tf.gather_nd(table, tf.stack([row_of, places], axis=-1))

    possible = look_up(layout.max_context(), starts)
    possible &= look_up(layout.is_text, ends)
    possible &= (ends >= starts) & (ends - starts < max_answer_length)
    places = tf.where(possible)
    shape = tf.shape(possible)

    def pick(values):
        return tf.gather_nd(tf.broadcast_to(values, shape), places)

    score = tf.cast(pick(start_scores), tf.float64)
    score += tf.cast(pick(end_scores), tf.float64)
    return places[:, 0], pick(starts), pick(ends), score


def _is_first_of_its_kind(kind):
    """Returns bool `[C]`: whether each int64 number occurs for the first time."""
    place = tf.range(tf.size(kind))
    kinds = tf.reduce_max(tf.concat([kind, [-1]], axis=0)) + 1
    earliest = tf.math.unsorted_segment_min(place, kind, kinds)
    return tf.gather(earliest, kind) == place
