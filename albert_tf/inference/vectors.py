"""Vectors of texts, and how well their cosines tell similar texts from others."""

import numpy as np

from albert_tf.display.progress import Progress
from albert_tf.errors import UserError
from albert_tf.layers.text_vectors import check_choice
from albert_tf.layers.text_vectors import text_vectors
from albert_tf.tasks import metrics
from albert_tf.tasks.prediction import OutputsPredictor
from albert_tf.tasks.prediction import require_numbers
from albert_tf.tasks.tokenized_examples import tokenize_texts
from albert_tf.tokenization.features import lists_of_texts

_TEXTS_AT_ONCE = 4096


class TextEmbedder:
    """Turns texts into vectors, batched by length.

    Args:
        model: an `AlbertModel`.
        tokenizer: the model's.
        pooling, layer, normalize: see `text_vectors`.
        max_seq_length: tokens of a text at most, special ones included; a longer one
            loses its end. By default the model's positions.
        batch_size: texts computed at a time.

    Call: a str, or a list or an iterator of str, and optionally second texts. Returns
    float32 `[texts, hidden]`.

    Raises:
        UserError: as `check_choice`; `max_seq_length` exceeds the model's positions,
            or leaves no room for text; texts that are no str, or another number of
            second ones.
    """

    def __init__(
        self,
        model,
        tokenizer,
        pooling="mean",
        layer=-1,
        normalize=False,
        max_seq_length=None,
        batch_size=32,
    ):
        config = model.config
        # In a graph, where the vectors are made, an error has many lines.
        check_choice(pooling, layer, config.num_hidden_layers * config.inner_group_num)
        self.tokenizer = tokenizer
        positions = model.config.max_position_embeddings
        self.max_seq_length = max_seq_length or positions
        if self.max_seq_length > positions:
            raise UserError(
                f"max_seq_length={max_seq_length} is more than the model's {positions} "
                "positions; lower it."
            )

        def compute(features, training):
            encoded = model(features, training=training)
            mask = features["input_mask"]
            return text_vectors(encoded, mask, pooling, layer, normalize)

        self._vectors = OutputsPredictor(compute, batch_size, self.max_seq_length)

    def __call__(self, texts, text_pairs=None):
        texts, text_pairs = lists_of_texts(texts, text_pairs)
        tokens = tokenize_texts(texts, text_pairs, self.tokenizer, self.max_seq_length)
        return require_numbers(self._vectors(tokens))

    def with_progress(self, texts, text_pairs=None):
        """Embeds as the call, some thousand texts at a time, with a progress bar."""
        texts, text_pairs = lists_of_texts(texts, text_pairs)
        parts = []
        with Progress(len(texts), "texts", "embedding") as progress:
            for begin in range(0, len(texts), _TEXTS_AT_ONCE):
                some = slice(begin, begin + _TEXTS_AT_ONCE)
                parts.append(self(texts[some], text_pairs and text_pairs[some]))
                progress.update(min(some.stop, len(texts)))
        return np.concatenate(parts)


def similarity_scores(embed, table):
    """Measures how well cosines rank pairs of texts.

    Args:
        embed: from a list of texts to vectors `[texts, hidden]`.
        table: a `Table` of pairs with their similarity as labels.

    Returns:
        `{"spearman", "pearson"}` of the cosines and the labels.
    """
    first, second = embed(table.texts), embed(table.text_pairs)
    norms = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1)
    cosines = np.sum(first * second, axis=1) / norms
    return {
        "spearman": metrics.spearman(table.labels, cosines),
        "pearson": metrics.pearson(table.labels, cosines),
    }
