"""The task of semantic similarity: text vectors whose cosines measure similarity."""

import dataclasses

import numpy as np
import tensorflow as tf

from albert_tf import prompts as prompting
from albert_tf.errors import UserError
from albert_tf.io.files import write_atomically
from albert_tf.objectives.texts import TextObjective
from albert_tf.objectives.texts import TextTerm
from albert_tf.tasks import metrics
from albert_tf.tasks.long_texts import LongTexts
from albert_tf.tasks.similarity import LOSSES
from albert_tf.tasks.similarity import OF_PAIRS
from albert_tf.tasks.similarity import OF_TEXTS
from albert_tf.tasks.similarity import TEACHER_DISTANCES
from albert_tf.tasks.similarity.search import retrieval_scores
from albert_tf.tasks.similarity.search import unit
from albert_tf.tasks.task import Task
from albert_tf.tasks.tokenized_examples import tokenize_texts
from albert_tf.tokenization.in_graph.features import PromptedFeatures
from albert_tf.tokenization.in_graph.windows import TextWindows
from albert_tf.tokenization.in_graph.windows import pooled_windows

_POOLINGS = {
    "mean": "the mean over its tokens",
    "cls": "that of its classification token",
    "pooler": "the pooled output",
}
_OF_SCORES, _OF_RANKS = ("spearman", "pearson"), ("ndcg_at_10", "mrr_at_10")
_NEVER = -1e9  # the logit of a text that is not a negative


class SimilarityTerm(TextTerm):
    """The loss of a `Similarity` task over all rows of a batch."""

    name = "similarity"

    def weights(self, batch):
        return tf.ones(tf.shape(batch["labels"])[:1])


class SimilarityObjective(TextObjective):
    """The `Similarity` objective: one term on the vectors of the whole global batch."""

    compares_rows = True
    term_class = SimilarityTerm

    def outputs(self, model, batch, training, dropout_seed):
        self._task.check_model(model.config)
        return super().outputs(model, batch, training, dropout_seed)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Similarity(LongTexts, Task):
    """Pairs of texts, with or without scores and negatives, or single texts.

    Attributes:
        loss: one of `LOSSES`.
        temperature: divisor of the cosines, except in "cosine".
        symmetric: whether "info_nce" also predicts anchors from positives.
        dimensions: sizes of vector prefixes to train, whose losses are summed; empty
            for the whole vector. Kusupati et al., "Matryoshka Representation Learning"
            (2022).
        pooling, normalize: the model's; see `AlbertForTextEmbedding`.
        scored: whether held-out pairs have scores; if not, they are ranked.
        teacher_distance: one of `TEACHER_DISTANCES`.
        prompts, default_prompt_name, include_prompt: the model's, as above.
        prompt_names: the names of the prompts before the first text of a row and
            before the others in training and evaluation; empty for the default.
        long_texts, doc_stride, window_pooling: see `LongTexts`. Windows have no prompt.
    """

    loss: str = OF_PAIRS
    temperature: float = 0.05
    symmetric: bool = False
    dimensions: tuple = ()
    pooling: str = "mean"
    normalize: bool = True
    scored: bool = True
    teacher_distance: str = "cosine"
    prompts: dict = dataclasses.field(default_factory=dict, hash=False)
    default_prompt_name: str | None = None
    include_prompt: bool = True
    prompt_names: tuple = ()

    kind = "similarity"
    choices = {"loss": LOSSES, "teacher_distance": TEACHER_DISTANCES}
    row_settings = ("row_prompts", "include_prompt", "long_texts", "doc_stride")
    head_tells_rows = True
    serves = "embedding"
    purpose = "similarity"

    def __post_init__(self):
        if type(self.temperature) not in (int, float) or not self.temperature > 0:
            raise ValueError(f"temperature is {self.temperature!r}, expected above 0")
        sizes = tuple(self.dimensions)
        if not all(type(size) is int and size > 0 for size in sizes):
            raise ValueError(f"dimensions is {self.dimensions!r}, expected integers")
        object.__setattr__(self, "dimensions", sizes)
        scores = _OF_SCORES if self.scored else _OF_RANKS
        object.__setattr__(self, "metrics", scores)
        object.__setattr__(self, "prompt_names", tuple(self.prompt_names))
        prompting.check_settings(
            self.prompts, self.default_prompt_name, self.include_prompt
        )
        if len(self.prompt_names) > 2:
            raise UserError(
                f"prompt_names={self.prompt_names!r}: expected one name, or two, of "
                "the first text and of the others."
            )
        self.check_long_texts()
        if self.in_windows and self.prompts:
            raise UserError(
                "long_texts=windows has no prompt before each window, but the model "
                f"has the prompts {', '.join(self.prompts)}; take head_tail."
            )
        super().__post_init__()

    @property
    def has_accuracy(self):
        """True if the loss defines whether a row is correct."""
        return self.loss in (OF_PAIRS, OF_TEXTS)

    # From examples to features.

    @property
    def row_prompts(self):
        """The prompts before the first text of a row and before the others."""
        names = self.prompt_names or (None,)
        ends = names[0], names[-1]
        return tuple(prompting.chosen_prompt(self, name) for name in ends)

    def tokenize(self, examples, tokenizer, max_seq_length, labels=None):
        first, other = self.row_prompts
        numbers, distinct = text_numbers(examples, first, other)
        tokens = tokenize_texts(
            distinct, None, tokenizer, max_seq_length, long_texts=self
        )
        tokens = tokens.take(numbers)
        if not (self.include_prompt or self.in_windows):
            second = first if examples.text_pairs is None else other
            prompts = (first, *[second] * (numbers.shape[1] - 1))
            lengths = [
                prompting.prompt_length(prompt, tokenizer, max_seq_length)
                for prompt in prompts
            ]
            lengths = np.broadcast_to(np.int32(lengths), numbers.shape)
            tokens = dataclasses.replace(tokens, prompt_lengths=lengths)
        return dataclasses.replace(tokens, labels=labels)

    @property
    def reads_whole(self):
        return "text" if self.in_windows else None

    # The model.

    @classmethod
    def told(cls, head):
        names = ("pooling", "normalize", *prompting.FIELDS)
        own = {name: head[name] for name in names if name in head}
        return {**super().told(head), **own}

    def model_arguments(self):
        own = {"pooling": self.pooling, "normalize": self.normalize}
        own["window_pooling"] = self.window_pooling if self.in_windows else None
        return {**own, **prompting.settings_of(self)}

    def to_dict(self):
        fields = self.with_settings(super().to_dict())
        names = fields.pop("prompt_names")
        fields = {k: v for k, v in fields.items() if k not in prompting.FIELDS}
        asked = {"prompt_names": names} if names else {}
        return {**fields, **prompting.settings_of(self), **asked}

    def check_model(self, config):
        """Checks that the task can train a model.

        Raises:
            UserError: the model's vectors are shorter than one of `dimensions`; or the
                model has no dropout, so that SimCSE would compare equal vectors.
        """
        width = config.hidden_size
        if max(self.dimensions, default=0) > width:
            raise UserError(
                f"dimensions={max(self.dimensions)}: the model's vectors have {width} "
                "numbers; give smaller sizes."
            )
        if self.loss == OF_TEXTS and config == config.with_dropout(0.0):
            raise UserError(
                "loss=simcse compares two vectors of a text that differ by dropout "
                "alone, of which this model has none; give "
                f"{config.dropout_fields[0]} 0.1, as --albert_dropout_prob=0.1 does."
            )

    def objective(self):
        return SimilarityObjective(self)

    def label_dtype(self, axes):
        """Returns the label dtype: scores have one axis, text numbers have two."""
        return tf.float32 if axes == 1 else tf.int32

    def losses(self, vectors, labels):
        """Computes each row's loss, float32 `[rows]`.

        Args:
            vectors: float32 `[rows, texts, hidden]`, of a whole batch.
            labels: float32 `[rows]` scores, or int32 `[rows, texts]` text numbers.
        """
        sizes = self.dimensions or (None,)
        return sum(self._losses(vectors, labels, size)[0] for size in sizes)

    def right(self, vectors, labels):
        """Returns float32 `[rows]`: 1 if the positive is closest, else 0."""
        first = self.dimensions[0] if self.dimensions else None
        return self._losses(vectors, labels, first)[1]

    def _losses(self, vectors, labels, size):
        """Computes losses, and hits or None, for vector prefixes of a size."""
        # The number of texts per row is dynamic.
        texts = labels.shape[1] if len(labels.shape) == 2 else 2
        vectors = tf.ensure_shape(vectors, [None, texts, None])[..., :size]
        if self.loss == "cosine":
            return cosine(vectors, labels), None
        if self.loss == "cosent":
            return cosent(vectors, labels, self.temperature), None
        return info_nce(vectors, labels, self.temperature, self.symmetric)

    def as_wide(self, logits, config):
        return vectors_of_width(logits, config.hidden_size)

    def distances(self, logits, teacher, temperature):
        """Computes the mean distance to the teacher's vectors over texts.

        A distance is one minus the cosine, or squared; `temperature` is ignored.
        """
        if self.teacher_distance == "squared":
            squares = tf.math.squared_difference(logits, teacher)
            return tf.reduce_mean(tf.reduce_sum(squares, axis=-1), axis=-1)
        own, theirs = (tf.math.l2_normalize(v, axis=-1) for v in (logits, teacher))
        return 1.0 - tf.reduce_mean(tf.reduce_sum(own * theirs, axis=-1), axis=-1)

    # Outputs: vectors `[rows, texts, hidden]`.

    def score(self, prepared, interpreted):
        """Computes correlations with the scores, or ranking metrics without scores."""
        labels = prepared.tokens.labels
        if labels.ndim == 2:
            return retrieval_scores(interpreted, labels)
        return correlations(labels, interpreted)

    def write_predicted(self, output_dir, prefix, prepared, interpreted):
        rows = zip(prepared.examples.rows, _cosines(interpreted), strict=True)
        lines = ["index\tsimilarity", *(f"{row}\t{own:.4f}" for row, own in rows)]
        path = output_dir / f"{prefix}test_results.tsv"
        write_atomically(path, "\n".join(lines) + "\n")

    # Serving: a vector for each text.

    def text_features(self, tokenizer, max_seq_length):
        if self.in_windows:
            return TextWindows(tokenizer, max_seq_length, self.stride)
        rows = prompting.chosen_prompt(self), self.include_prompt, self.head_tail
        return PromptedFeatures(tokenizer, max_seq_length, *rows)

    def string_answers(self, text_features, compute):
        if not self.in_windows:
            return super().string_answers(text_features, compute)

        def answer(text):
            features, owners = text_features.windows(text)
            texts, how = tf.size(text, tf.int64), self.window_pooling
            vectors = compute(features)["embedding"]
            found = pooled_windows(vectors, owners, texts, how)
            if self.normalize:
                found = tf.math.l2_normalize(found, axis=-1)
            return self.answers(self.numbers(found), features)

        return answer

    def numbers(self, outputs):
        return {"embedding": outputs}

    def outputs(self, numbers):
        return numbers["embedding"]

    def meaning(self):
        length = " of length 1" if self.normalize else ""
        pooling, prompt = _POOLINGS[self.pooling], prompting.chosen_prompt(self)
        after = f" after the prompt {prompt!r}" if prompt else ""
        return {"embedding": f"a vector{length} for the text{after}: {pooling}"}


def correlations(scores, vectors):
    """Computes correlations of scores `[rows]` and cosines of `[rows, 2, hidden]`.

    Returns:
        `{"spearman", "pearson"}`.
    """
    cosines = _cosines(vectors)
    return {name: metrics.METRICS[name](scores, cosines) for name in _OF_SCORES}


def text_numbers(examples, first_prompt="", other_prompt=""):
    """Numbers the distinct texts of a `Table`; a single text is paired with itself.

    Args:
        examples: the `Table`.
        first_prompt, other_prompt: what to put before first texts, and before others.

    Returns:
        int32 `[rows, texts]`, and the list of distinct texts.
    """
    texts = [first_prompt + text for text in examples.texts]
    others = (examples.text_pairs, examples.negatives or None)
    others = [[other_prompt + t for t in own] for own in others if own is not None]
    columns = [texts, *others] if others else [texts, texts]
    places = {}
    numbers = [
        [places.setdefault(text, len(places)) for text in row]
        for row in zip(*columns, strict=True)
    ]
    return np.array(numbers, np.int32), list(places)


def _cosines(vectors):
    first, second = unit(vectors[:, 0]), unit(vectors[:, 1])
    return np.sum(first * second, axis=-1)


def info_nce(vectors, texts, temperature, symmetric=False):
    """Computes the cross-entropy of each anchor's positive among all other texts.

    Negatives are the positives and negatives of all rows, except texts equal to the
    anchor or its positive, and positives of an equal anchor. Source: van den Oord et
    al. (2018), section 2.3; Henderson et al. (2017), section 4.4.

    Args:
        vectors: float32 `[batch, texts, hidden]`.
        texts: int32 `[batch, texts]`, equal for equal texts.
        temperature: divisor of the cosines.
        symmetric: whether to also predict each anchor from its positive; the loss is
            the mean of both directions.

    Returns:
        The losses, float32 `[batch]`, and float32 `[batch]`, 1 if the positive is
        closer than every negative.
    """
    unit, rows = tf.math.l2_normalize(vectors, axis=-1), tf.shape(vectors)[0]
    # The positives of all rows, then the negatives.
    candidates = tf.concat(tf.unstack(unit[:, 1:], axis=1), axis=0)  # [K, H]
    numbers = tf.concat(tf.unstack(texts[:, 1:], axis=1), axis=0)  # [K]
    logits = tf.matmul(unit[:, 0], candidates, transpose_b=True) / temperature
    anchor, positive = texts[:, :1], texts[:, 1:2]  # [B, 1]
    equal = (numbers == anchor) | (numbers == positive)  # [B, K]
    of_equal_anchor = anchor == tf.transpose(anchor)  # [B, B]
    negatives = tf.shape(numbers)[0] - rows
    equal |= tf.pad(of_equal_anchor, [[0, 0], [0, negatives]])
    own = tf.eye(rows, rows + negatives, dtype=tf.bool)
    logits = tf.where(equal & ~own, _NEVER, logits)
    places = tf.range(rows)
    cross_entropy = tf.nn.sparse_softmax_cross_entropy_with_logits
    losses = cross_entropy(places, logits)
    hits = tf.argmax(logits, axis=1, output_type=tf.int32) == places
    if symmetric:
        losses += cross_entropy(places, tf.transpose(logits[:, :rows]))
        losses /= 2.0
    return losses, tf.cast(hits, tf.float32)


def cosent(vectors, scores, temperature):
    """Computes CoSENT: pairs with higher scores should have higher cosines.

    `log(1 + sum exp((cos_i - cos_j) / temperature))` over the rows i and j where j has
    the higher score. Source: Su, "CoSENT" (2022).

    Args:
        vectors: float32 `[batch, 2, hidden]`.
        scores: float32 `[batch]`.
        temperature: float.

    Returns:
        Float32 `[batch]`, the loss of the batch repeated for each row.
    """
    cosines = cosine_of_pairs(vectors)
    differences = (cosines[:, None] - cosines[None, :]) / temperature
    is_wrong = scores[:, None] < scores[None, :]
    exponents = tf.where(is_wrong, differences, _NEVER)
    exponents = tf.concat([[0.0], tf.reshape(exponents, [-1])], axis=0)
    return tf.fill(tf.shape(scores), tf.reduce_logsumexp(exponents))


def cosine(vectors, scores):
    """Computes the squared difference of cosine and score, float32 `[batch]`.

    Args:
        vectors: float32 `[batch, 2, hidden]`.
        scores: float32 `[batch]`.
    """
    return tf.square(cosine_of_pairs(vectors) - scores)


def vectors_of_width(vectors, width):
    """Resizes vectors, and changes their cosines as little as possible.

    Wider vectors are projected to their uncentered principal axes; narrower ones are
    padded with 0.

    Args:
        vectors: float32 array `[..., hidden]`.
        width: int.

    Returns:
        float32 `[..., width]`.
    """
    missing = width - vectors.shape[-1]
    if missing >= 0:
        return np.pad(vectors, [*[(0, 0)] * (vectors.ndim - 1), (0, missing)])
    rows = np.float64(vectors.reshape(-1, vectors.shape[-1]))
    _, axes = np.linalg.eigh(rows.T @ rows)  # ascending
    return (vectors @ axes[:, : -width - 1 : -1]).astype(np.float32)


def cosine_of_pairs(vectors):
    """Computes the cosine of the first two texts of each row, float32 `[batch]`."""
    unit = tf.math.l2_normalize(vectors, axis=-1)
    return tf.reduce_sum(unit[:, 0] * unit[:, 1], axis=-1)
