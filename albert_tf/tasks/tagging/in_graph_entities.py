"""Makes windows of texts and decodes entities inside a graph, for serving.

The in-graph twin of `rows.py`, `schemes.best_tags` and `schemes.entities_of`. Shapes:
B texts, C characters and N words in all texts, W windows, T tokens per window, L tags.
"""

import tensorflow as tf

from albert_tf.tasks.tagging import schemes
from albert_tf.tasks.tagging.schemes import OUTSIDE
from albert_tf.tasks.tagging.schemes import is_entity
from albert_tf.tasks.tagging.schemes import type_of
from albert_tf.tokenization.in_graph.features import RowsOfTexts
from albert_tf.tokenization.in_graph.origins import stretches
from albert_tf.tokenization.in_graph.tokenizer import InGraphTokenizer
from albert_tf.tokenization.in_graph.windows import InGraphLayout
from albert_tf.tokenization.normalization import CHINESE
from albert_tf.tokenization.normalization import character_class
from albert_tf.tokenization.normalization import is_punctuation

_PADDED_WORDS = 262_144  # words decoded at once, including padding


class RowFeatures(RowsOfTexts):
    """Maps strings to windows.

    Args:
        tokenizer: as returned by `albert_tf.load_tokenizer`.
        max_seq_length, doc_stride: see `tokenize_sentences`.

    Call: text, string `[B]`, valid UTF-8. Returns the windows' features, int32
    `input_ids`, `input_mask`, `segment_ids` `[W, T]`.
    """

    def __init__(self, tokenizer, max_seq_length, doc_stride):
        super().__init__(tokenizer, tokenizer.layout.padded_after)
        self.tokenizer = InGraphTokenizer(tokenizer)
        self.max_seq_length = max_seq_length
        self.doc_stride = doc_stride

    def __call__(self, text):
        return self.windows(text)[0]

    def windows(self, text):
        """Makes the windows of the texts of a call.

        Returns:
            The features, int32 `[W, T]` by name; the words, ragged string `[B,
            (words)]`; their first characters and those after their last, int32 `[N]`;
            and the word whose first piece a token is, int64 `[W, T]`, -1 for others
            and where another window sees the token better.
        """
        words, starts, ends = split_words(text)
        pieces = self.tokenizer.words(words.flat_values)  # [N, (pieces)]
        place = tf.ragged.range(pieces.row_lengths()).flat_values
        first = tf.where(place == 0, pieces.value_rowids(), -1)
        ids = words.with_flat_values(pieces).merge_dims(1, 2)  # [B, (tokens)]
        special = tf.constant(self.layout.special(False), tf.int64)
        layout = InGraphLayout(
            self.layout,
            tf.fill([ids.nrows()], special),
            ids,
            self.max_seq_length,
            self.doc_stride,
        )
        special = layout.special_ids(self.cls_id, self.sep_id)
        input_ids = layout.pick(ids.flat_values, special)
        features = layout.features(input_ids, layout.length, self.pad_id)
        none = tf.fill(tf.shape(input_ids), tf.constant(-1, tf.int64))
        word = tf.where(layout.max_context(), layout.pick(first, none), none)
        return features, words, starts, ends, word


class Entities(tf.Module):
    """Maps strings to entities; windows, model and decoding are in the graph.

    Args:
        text_features: a `RowFeatures`.
        compute: maps int32 features `[W, T]` to a dict with `logits`, float32 `[W, T,
            L]`.
        task: the `Tagging`.

    Call: text, string `[B]`, UTF-8. Returns a dict of `[B, entities]`, in text order,
    padded with "" and 0:
        entity: string, the span of text
        label: string, the type
        start, end: int32, bounds in characters, end exclusive
        score: float32, the mean probability of the tags of its words
    """

    def __init__(self, text_features, compute, task):
        super().__init__()
        self._text_features = text_features
        self._compute = compute
        self._task = task
        labels, scheme = task.labels, task.scheme
        self._types = [type_of(tag, scheme) for tag in labels]
        self._is_entity = [is_entity(tag, scheme) for tag in labels]
        self._begins = schemes.beginnings(labels, scheme)
        self._without_token = schemes.scores_without_token(labels, scheme)

    def __call__(self, text):
        text = tf.strings.unicode_transcode(text, "UTF-8", "UTF-8", errors="replace")
        features, words, *bounds, word = self._text_features.windows(text)
        numbers = self._compute(features)
        log_probs = self._log_probs(words, word, numbers["logits"])
        tags = self._tags(words, log_probs, self._task.steps(numbers))  # [N]
        return self._entities(text, words, bounds, tags, log_probs)

    def _log_probs(self, words, word, logits):
        """Returns float32 `[N, L]`."""
        places = tf.where(word >= 0)
        word = tf.gather_nd(word, places)
        count = tf.size(words.flat_values, tf.int64)
        found = tf.tile(self._without_token[None], tf.stack([count, 1]))
        own = tf.gather_nd(logits, places)
        return tf.nn.log_softmax(tf.tensor_scatter_nd_update(found, word[:, None], own))

    def _tags(self, words, log_probs, steps):
        if steps is None:
            return tf.argmax(log_probs, axis=-1, output_type=tf.int32)
        rows = words.with_flat_values(log_probs)
        longest = tf.reduce_max(tf.concat([words.row_lengths(), [0]], axis=0))
        # Otherwise one long text would pad all others to its length.
        return tf.cond(
            words.nrows() * longest > _PADDED_WORDS,
            lambda: (
                tf.map_fn(
                    lambda row: self._best_tags(
                        tf.RaggedTensor.from_tensor(row[None]), steps
                    ),
                    rows,
                    fn_output_signature=tf.RaggedTensorSpec([None], tf.int32, 0),
                ).flat_values
            ),
            lambda: self._best_tags(rows, steps),
        )

    def _best_tags(self, rows, steps):
        """Returns int32 `[N]` for ragged float32 `[B, (words), L]`."""
        # Each text ends with the tag O.
        lengths = rows.row_lengths()
        outside = self._task.labels.index(OUTSIDE)
        best = _viterbi(rows.to_tensor(0.0), lengths, steps, outside)
        return tf.boolean_mask(best, tf.sequence_mask(lengths))

    def _entities(self, text, words, bounds, tags, log_probs):
        starts, ends = bounds
        is_first = tf.ragged.range(words.row_lengths()).values == 0
        before = tf.concat([[0], tags[:-1]], axis=0)[: tf.size(tags)]
        before = tf.where(is_first, len(self._types), before)
        begins = tf.gather_nd(self._begins, tf.stack([before, tags], axis=1))
        is_in = tf.gather(self._is_entity, tags)
        number = tf.boolean_mask(tf.cumsum(tf.cast(begins, tf.int64)) - 1, is_in)
        count = tf.reduce_sum(tf.cast(begins, tf.int64))
        starts = tf.boolean_mask(starts, begins)
        ends = tf.math.unsorted_segment_max(tf.boolean_mask(ends, is_in), number, count)
        chosen = tf.exp(tf.gather(log_probs, tags, batch_dims=1))
        score = tf.math.unsorted_segment_mean(
            tf.boolean_mask(chosen, is_in), number, count
        )
        row = tf.boolean_mask(words.value_rowids(), begins)
        count = tf.size(text, tf.int64)

        def by_text(values):
            return tf.RaggedTensor.from_value_rowids(values, row, count)

        codes = tf.strings.unicode_decode(text, "UTF-8")
        entities = stretches(codes, by_text(starts), by_text(ends))
        values = {
            "entity": entities.flat_values,
            "label": tf.gather(self._types, tf.boolean_mask(tags, begins)),
            "start": starts,
            "end": ends,
            "score": score,
        }
        return {name: by_text(found).to_tensor() for name, found in values.items()}


def _viterbi(log_probs, lengths, steps, outside):
    """Finds the best legal tags, int32 `[B, N]`; see `schemes.best_tags`.

    Args:
        log_probs: float32 `[B, N, L]`.
        lengths: int64 `[B]`; beyond them, the result is meaningless.
        steps: float32 `[L, L]`, the score of each transition.
        outside: the id of O.
    """
    batch, count = tf.shape(log_probs)[0], tf.shape(log_probs)[1]
    # A path that has ended stays at O, which costs nothing.
    stays = tf.where(tf.range(steps.shape[0]) == outside, 0.0, schemes.FORBIDDEN)
    is_word = tf.sequence_mask(lengths, count)  # [B, N]
    scores = tf.where(is_word[:, :, None], log_probs, stays)
    scores = tf.concat([scores, tf.tile(stays[None, None], [batch, 1, 1])], axis=1)
    start = tf.tile(stays[None], [batch, 1])  # [B, L]

    def forward(state, word):
        paths = state[0][:, :, None] + steps  # [B, L, L]
        origin = tf.argmax(paths, axis=1, output_type=tf.int32)
        return tf.reduce_max(paths, axis=1) + word, origin

    by_word = tf.transpose(scores, [1, 0, 2])  # [N + 1, B, L]
    nothing = tf.zeros_like(start, tf.int32)
    _, origins = tf.scan(forward, by_word, (start, nothing))  # [N + 1, B, L]
    last = tf.fill([batch], outside)
    best = tf.scan(
        lambda tag, origin: tf.gather(origin, tag, batch_dims=1),
        origins,
        last,
        reverse=True,
    )  # [N + 1, B]: the tag before each word
    return tf.transpose(best[1:])


def split_words(texts):
    """Splits texts into words with their bounds, like `sentences.word_bounds`.

    Args:
        texts: string `[B]`, valid UTF-8.

    Returns:
        words: ragged string `[B, (words)]`.
        starts, ends: int32 `[N]`, the bounds of each word in characters, end exclusive.
    """
    characters = tf.strings.unicode_split(texts, "UTF-8")
    flat = characters.flat_values  # [C]
    is_first = _firsts(characters.row_splits, flat)
    is_space = tf.strings.regex_full_match(flat, character_class(str.isspace))
    is_alone = tf.strings.regex_full_match(flat, CHINESE)
    is_mark = tf.strings.regex_full_match(flat, character_class(is_punctuation))
    is_mark &= ~is_alone
    is_letter = ~(is_space | is_alone | is_mark)
    # A run is not split until the next space or Chinese character.
    run = tf.cumsum(tf.cast(is_first | is_space | is_alone, tf.int64))
    runs = tf.size(flat, tf.int64) + 1
    letters = tf.cast(is_letter, tf.int64)
    before = tf.cumsum(letters, exclusive=True)
    before -= tf.gather(tf.math.unsorted_segment_min(before, run, runs), run)
    total = tf.gather(tf.math.unsorted_segment_sum(letters, run, runs), run)
    is_alone |= is_mark & ((before == 0) | (before == total))
    is_inner = ~(is_space | is_alone)
    follows = tf.concat([[False], is_inner[:-1]], axis=0) & ~is_first
    begins = is_alone | (is_inner & ~follows)
    word = tf.cumsum(tf.cast(begins, tf.int64)) - 1  # of each character except spaces
    count = tf.reduce_sum(tf.cast(begins, tf.int64))
    kept = tf.boolean_mask(flat, ~is_space)
    of_words = tf.RaggedTensor.from_value_rowids(
        kept, tf.boolean_mask(word, ~is_space), count
    )
    words = tf.strings.reduce_join(of_words, axis=1)  # [N]
    text = tf.boolean_mask(characters.value_rowids(), begins)
    starts = tf.boolean_mask(tf.ragged.range(characters.row_lengths()).values, begins)
    ends = starts + of_words.row_lengths()
    words = tf.RaggedTensor.from_value_rowids(words, text, characters.nrows())
    return words, tf.cast(starts, tf.int32), tf.cast(ends, tf.int32)


def _firsts(row_splits, flat):
    """Returns bool `[C]`: whether a character is the first in its text."""
    count = tf.size(flat, tf.int64)
    begins = tf.boolean_mask(row_splits[:-1], row_splits[:-1] < count)
    marks = tf.math.unsorted_segment_sum(tf.ones_like(begins), begins, count)
    return marks > 0
