"""Types of the answers of models: a `TypedDict` for each task.

A type checker cannot know the task of a path, so a `Predictor` returns `Answer` and a
`TextClassifier` returns `ClassifierAnswer`, which have the keys of all their tasks.
"""

from typing import Any
from typing import TypedDict

import numpy as np


class _Early(TypedDict, total=False):
    exit_layer: int  # with early exit only: the number of layers used


class LabelAnswer(_Early):
    """One label per text ("single_label")."""

    label: str
    probabilities: dict[str, float]


class LabelsAnswer(_Early):
    """Any number of labels ("multi_label")."""

    labels: list[str]
    probabilities: dict[str, float]


class NumberAnswer(_Early):
    """A number ("regression")."""

    score: float


class ClassifierAnswer(_Early, total=False):
    """The answer of `TextClassifier.predict`: the keys of its `label_kind`."""

    label: str
    labels: list[str]
    probabilities: dict[str, float]
    score: float


class Candidate(TypedDict):
    """A stretch of the context; `start` and `end` count characters."""

    answer: str
    score: float
    start: int
    end: int


class QuestionAnswer(TypedDict):
    """Questions; `answer` is "" for none."""

    answer: str
    answers: list[Candidate]
    no_answer_score: float


class ChoiceAnswer(TypedDict):
    """Multiple choice; `choice` is the index of the best option."""

    choice: int
    probabilities: list[float]


class Entity(TypedDict):
    """A stretch of the text; `start` and `end` count characters."""

    entity: str
    label: str
    score: float
    start: int
    end: int


class EntitiesAnswer(TypedDict):
    """Tagging."""

    entities: list[Entity]


class Guess(TypedDict):
    """A token for a [MASK]."""

    token: str
    token_id: int
    probability: float


class MasksAnswer(TypedDict):
    """Masked words ("masked_lm"): for each [MASK] the best tokens."""

    masks: list[list[Guess]]


class VectorAnswer(TypedDict):
    """Vectors of texts ("embedding"), float32 `[hidden]`."""

    embedding: np.ndarray


class _Pooled(TypedDict, total=False):
    pooled_output: np.ndarray  # `[hidden]`, unless the encoder is XLNet's


class EncoderAnswer(_Pooled):
    """Encoders: `sequence_output` `[tokens, hidden]` and `input_ids` `[tokens]`."""

    sequence_output: np.ndarray
    input_ids: np.ndarray


class Answer(_Early, _Pooled, total=False):
    """The answer of a `Predictor`: the keys of its task."""

    label: str
    labels: list[str]
    probabilities: Any  # a dict by label, or a list by option
    score: float
    answer: str
    answers: list[Candidate]
    no_answer_score: float
    choice: int
    entities: list[Entity]
    masks: list[list[Guess]]
    embedding: np.ndarray
    sequence_output: np.ndarray
    input_ids: np.ndarray


class Found(TypedDict):
    """A result of `TextEmbedder.search`; `index` is the place in the corpus."""

    index: int
    similarity: float


class Ranked(Found):
    """A result of `TextEmbedder.rank`."""

    text: str


class Reranked(TypedDict):
    """A result of `Reranker.rank`; `index` is the place among the texts."""

    index: int
    score: float
    text: str
