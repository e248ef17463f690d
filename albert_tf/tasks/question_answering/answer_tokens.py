"""From the characters of an answer to tokens, and back."""

import numpy as np

NONE = (-1, -1)


def first_and_last(context, spans, answer):
    """Finds the tokens that an answer lies in.

    Many files have their answers placed where the text occurs first, be it within a
    word ("gold" in "golden"). Of such an answer the nearest occurrence counts that is
    within no word and that tokens give back exactly, if there is one.

    Args:
        context: the paragraph.
        spans: int array `[tokens, 2]`, the characters of each token; see `Windows`.
        answer: an `Answer`.

    Returns:
        The first and the last token that share a character with the answer, or (-1, -1)
        if none does.
    """
    start, end = characters(context, answer.start, answer.start + len(answer.text))
    text = context[start:end]
    tokens = np.flatnonzero(spans[:, 0] < spans[:, 1])
    begins, ends = spans[tokens].T  # neither ever falls

    def overlapping(start):
        """Returns the tokens that share a character, and whether they give it back."""
        end = start + len(text)
        first = np.searchsorted(ends, start, side="right")
        last = np.searchsorted(begins, end) - 1
        if first > last:
            return NONE, False
        is_exact = begins[first] == start and ends[last] == end
        return (int(tokens[first]), int(tokens[last])), is_exact

    found, is_exact = overlapping(start)
    within_a_word = _joins(context, start) or _joins(context, end)
    if not within_a_word or is_exact or not text:
        return found
    others = np.intersect1d(begins, ends - len(text))
    for other in others[np.argsort(abs(others - start), kind="stable")].tolist():
        if not context.startswith(text, other) or any(
            _joins(context, border) for border in (other, other + len(text))
        ):
            continue
        candidate, is_exact = overlapping(other)
        if is_exact:
            return candidate
    return found


def window_labels(layout, answers):
    """Finds the answer's first and last token in each window, and whether it has none.

    Args:
        layout: a `Layout` of the paragraphs of questions, behind each question.
        answers: int array `[questions, 2]`, first and last token in the paragraph; -1
            without an answer.

    Returns:
        int32 array `[windows, 3]`; the place of [CLS], twice, and 1 where the answer is
        not wholly in the window.
    """
    found = answers[layout.text] - layout.first[:, None]  # [W, 2]
    inside = (found[:, 0] >= 0) & (found[:, 1] < layout.tokens)
    inside &= answers[layout.text, 0] >= 0
    places = found + layout.before[:, None]
    positions = np.where(inside[:, None], places, layout.cls_positions[:, None])
    return np.column_stack([positions, ~inside]).astype(np.int32)


def characters(context, start, end):
    """Strips white space from a stretch of the context, and returns (start, end)."""
    text = context[start:end]
    start += len(text) - len(text.lstrip())
    return start, start + len(text.strip())


def _joins(context, border):
    """Returns whether a word crosses a border, in scripts that put spaces between."""
    return 0 < border < len(context) and all(
        character.isdigit() or character.lower() != character.upper()
        for character in context[border - 1 : border + 1]
    )
