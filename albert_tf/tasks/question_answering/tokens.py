"""Windows as rows that training and prediction batch and cache."""

import dataclasses

import numpy as np

from albert_tf.tasks.question_answering.windows import Windows
from albert_tf.tasks.tokenized_examples import TokenizedExamples


@dataclasses.dataclass(frozen=True, kw_only=True)
class WindowTokens(TokenizedExamples):
    """The arrays of `Windows`, which explains them; a row is a window.

    Attributes:
        spans, is_max_context: empty for training, which needs no text.
        question_index, window_index: of each row.
        answers: int32 `[W, 3]`, the labels of training; empty otherwise.
    """

    spans: np.ndarray
    is_max_context: np.ndarray
    question_index: np.ndarray
    window_index: np.ndarray
    answers: np.ndarray

    @classmethod
    def of(cls, windows):
        """Takes the arrays of `Windows`."""
        is_training = windows.labels is not None
        none = slice(0, 0 if is_training else None)
        return cls(
            ids=windows.ids,
            starts=windows.starts,
            lengths=windows.lengths,
            first_lengths=windows.first_lengths,
            spans=windows.spans[none],
            is_max_context=windows.is_max_context[none],
            question_index=windows.question_index,
            window_index=windows.window_index,
            answers=windows.labels if is_training else np.zeros((0, 3), np.int32),
            layout=windows.layout,
            pad_id=windows.pad_id,
        )

    def windows(self, examples):
        """Returns the `Windows` again, with the texts of their `QuestionFile`."""
        values = {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(Windows)
            if field.name not in ("questions", "contexts")
        }
        return Windows(examples.questions, examples.contexts, **values)
