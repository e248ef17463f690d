"""Where the windows of a paragraph begin and end, and which of them is best where.

Q questions, W windows, N tokens of paragraphs in windows, one after the other.
"""

import dataclasses

import numpy as np

SPECIAL = 3
"""The tokens of a window that are no text: [CLS] and two [SEP]."""


@dataclasses.dataclass(frozen=True)
class Layout:
    """The windows of some questions.

    Attributes:
        question: int64 `[W]`, whose window it is.
        index: int64 `[W]`, the how-manieth it is of its question.
        first: int64 `[W]`, the first token of the paragraph in it.
        tokens: int64 `[W]`, how many of the paragraph's tokens it has.
        first_lengths: int64 `[W]`, tokens of `[CLS] question [SEP]`.
        paragraph_tokens: int64 `[Q]`, of each question's paragraph.
    """

    question: np.ndarray
    index: np.ndarray
    first: np.ndarray
    tokens: np.ndarray
    first_lengths: np.ndarray
    paragraph_tokens: np.ndarray

    @classmethod
    def of(cls, question_tokens, paragraph_tokens, sizes):
        """Lays windows out, as official: the last one ends with the paragraph.

        Args:
            question_tokens: int array `[Q]`, at most `sizes.max_query_length`.
            paragraph_tokens: int array `[Q]`; a paragraph of none gets one window.
            sizes: a `WindowSizes`.
        """
        room = sizes.max_seq_length - SPECIAL - question_tokens  # [Q]
        step = np.minimum(room, sizes.doc_stride)
        left_over = np.maximum(paragraph_tokens - room, 0)
        counts = 1 + -(-left_over // step)
        question = np.repeat(np.arange(len(counts)), counts)
        index = np.arange(len(question)) - np.repeat(np.cumsum(counts) - counts, counts)
        first = index * step[question]
        return cls(
            question=question,
            index=index,
            first=first,
            tokens=np.minimum(room[question], paragraph_tokens[question] - first),
            first_lengths=question_tokens[question].astype(np.int64) + 2,
            paragraph_tokens=paragraph_tokens,
        )

    @property
    def lengths(self):
        """int64 `[W]`, all tokens of each window."""
        return self.first_lengths + self.tokens + 1

    @property
    def starts(self):
        """int64 `[W]`, where each window begins in a row of them all."""
        return np.cumsum(self.lengths) - self.lengths

    def rows_and_positions(self):
        """Of each token of all windows: its window and its place in there."""
        lengths = self.lengths
        rows = np.repeat(np.arange(len(lengths)), lengths)
        return rows, np.arange(len(rows)) - self.starts[rows]

    def max_context(self, rows, tokens):
        """Which tokens their window sees with more context than every other does.

        The context of a token is the lesser number of tokens left and right of it,
        and a hundredth of the window's length; of equal windows the first is best.

        Args:
            rows: int array `[N]`, the window.
            tokens: int array `[N]`, the token's number in its paragraph.

        Returns:
            bool array `[N]`.
        """
        from_left = tokens - self.first[rows]
        from_right = self.tokens[rows] - 1 - from_left
        score = np.minimum(from_left, from_right) + 0.01 * self.tokens[rows]
        paragraph_starts = np.cumsum(self.paragraph_tokens) - self.paragraph_tokens
        key = paragraph_starts[self.question[rows]] + tokens
        best = np.full(int(self.paragraph_tokens.sum()), -1.0)
        owner = np.zeros(len(best), np.int64)
        index = self.index[rows]
        for window in range(int(index.max(initial=-1)) + 1):
            here = np.flatnonzero(index == window)
            here = here[score[here] > best[key[here]]]
            best[key[here]] = score[here]
            owner[key[here]] = window
        return owner[key] == index

    def labels(self, answers):
        """First and last token of the answer in each window, and whether it has none.

        Args:
            answers: int array `[Q, 2]`, first and last token in the paragraph; -1
                without an answer.

        Returns:
            int32 array `[W, 3]`; 0, 0, 1 where the answer is not wholly in the window.
        """
        found = answers[self.question] - self.first[:, None]  # [W, 2]
        inside = (found[:, 0] >= 0) & (found[:, 1] < self.tokens)
        inside &= answers[self.question, 0] >= 0
        positions = np.where(inside[:, None], found + self.first_lengths[:, None], 0)
        return np.column_stack([positions, ~inside]).astype(np.int32)
