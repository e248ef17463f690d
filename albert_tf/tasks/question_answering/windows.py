"""Questions and paragraphs as windows of token ids: `[CLS] question [SEP] text [SEP]`.

XLNet's are `text [SEP] question [SEP] [CLS]`. A paragraph that does not fit is split
into overlapping windows. Source: `convert_examples_to_features` in squad_utils.py of
google-research/albert, but with the tokenizer's offsets instead of an alignment
afterwards, which works for every vocabulary and drops no question.

Shapes: W windows, T tokens per window.
"""

import dataclasses
import itertools

import numpy as np

from albert_tf.errors import UserError
from albert_tf.row_layout import CLS_FIRST
from albert_tf.tasks.question_answering.questions import can_be_learned
from albert_tf.tasks.question_answering.questions import note
from albert_tf.tasks.tokenized_examples import TokenizedExamples
from albert_tf.tasks.tokenized_examples import begins_of
from albert_tf.tasks.windows import Layout

SPECIAL = CLS_FIRST.special(True)
"""The number of special tokens in a window: [CLS] and two [SEP]."""
NONE = (-1, -1)
"""First and last token of an answer that is in no token."""
_PARAGRAPHS = 64  # per chunk, whose arrays need a few megabytes
LONG_QUESTION = "the question is longer than max_query_length and loses its end"
LEFT_OUT = "left out, since the answer is missing or not where it should be"
NO_WINDOW_HAS_IT = "no window holds the whole answer, so that all train as impossible"
MOVED = "the answer is placed within a word, and learned where it stands as words"
NO_TOKEN_HAS_IT = "no token is left of the answer, so that it trains as impossible"


@dataclasses.dataclass(frozen=True)
class WindowSizes:
    """Sizes of the windows of paragraphs.

    Attributes:
        max_seq_length: maximum number of tokens in a window, including the question and
            special tokens.
        doc_stride: tokens between the starts of consecutive windows.
        max_query_length: maximum number of tokens in a question; the rest is cut off.

    Raises:
        UserError: there is no room for a paragraph.
    """

    max_seq_length: int = 384
    doc_stride: int = 128
    max_query_length: int = 64

    def __post_init__(self):
        for name, least in (("doc_stride", 1), ("max_query_length", 0)):
            if (value := getattr(self, name)) < least:
                raise UserError(f"{name}={value}: expected at least {least}.")
        self.require_room(SPECIAL)

    def require_room(self, special):
        """Refuses sizes that leave no room for a paragraph beside `special` tokens."""
        if self.max_seq_length <= self.max_query_length + special:
            raise UserError(
                f"max_seq_length={self.max_seq_length} leaves no room for a paragraph "
                f"beside max_query_length={self.max_query_length} and {special} "
                "special tokens; raise the first or lower the second."
            )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Windows(TokenizedExamples):
    """The windows of questions, in order; each row is a window.

    Attributes:
        spans: int32 `[len(ids), 2]`, each token's bounds in characters of the
            paragraph, end exclusive. Empty for a white space token; (0, 0) outside the
            paragraph.
        is_max_context: bool `[len(ids)]`, the paragraph tokens that have the most
            context in this window. Only these are candidate starts.
        question_index: int32 `[W]`, the window's question, an index into `questions`.
        window_index: int32 `[W]`, the window's index among those of its question.
        answers: int32 `[W, 3]`, the training labels: first and last token of the answer
            ([CLS] without one), and whether the window has no answer; else empty.
        questions: the `Question`s, a list.
        contexts: the text of each question's paragraph, a list of str.
    """

    spans: np.ndarray
    is_max_context: np.ndarray
    question_index: np.ndarray
    window_index: np.ndarray
    answers: np.ndarray
    questions: list = ()
    contexts: list = ()

    @classmethod
    def joined(cls, parts):
        """Joins several `Windows`, at least one, in order."""
        tokens = np.cumsum([0, *(len(part.ids) for part in parts)])
        questions = np.cumsum([0, *(len(part.questions) for part in parts)])
        windows = [len(part) for part in parts]
        arrays = {
            name: np.concatenate([getattr(part, name) for part in parts])
            for name in parts[0].arrays()
        }
        arrays["starts"] += np.repeat(tokens[:-1], windows)
        arrays["question_index"] += np.repeat(questions[:-1], windows).astype(np.int32)
        return cls(
            questions=[question for part in parts for question in part.questions],
            contexts=[context for part in parts for context in part.contexts],
            layout=parts[0].layout,
            pad_id=parts[0].pad_id,
            **arrays,
        )

    def padded(self, values, width):
        """Pads values to one row per window: `[len(ids), …]` to `[W, width, …]`."""
        position = np.arange(width)  # [T]
        real = position < self.lengths[:, None]  # [W, T]
        places = np.where(real, self.starts[:, None] + position, 0)
        rows = values[places]
        rows[~real] = 0
        return rows

    @property
    def text_ends(self):
        """int32 `[W]`, the position after the paragraph, of its [SEP]."""
        rows = self.first_lengths if self.layout.cls_last else self.lengths
        return rows - 1


def windows_of(paragraphs, tokenizer, sizes, notices, is_training=False):
    """Yields the `Windows` of a few paragraphs at a time, to bound memory.

    Each paragraph is tokenized once for all its questions.

    Args:
        paragraphs: iterable of `Paragraph`.
        tokenizer: as returned by `albert_tf.load_tokenizer`.
        sizes: a `WindowSizes`.
        notices: dict in which to `note` questions that are truncated or skipped.
        is_training: whether to add labels from each question's first answer, and skip
            questions that are unusable for training.
    """
    paragraphs = iter(paragraphs)
    while chunk := list(itertools.islice(paragraphs, _PARAGRAPHS)):
        if is_training:
            chunk = [_to_learn_from(paragraph, notices) for paragraph in chunk]
        chunk = [paragraph for paragraph in chunk if paragraph.questions]
        if chunk:
            yield _make(chunk, tokenizer, sizes, notices, is_training)


def _to_learn_from(paragraph, notices):
    kept = []
    for question in paragraph.questions:
        if can_be_learned(question, paragraph.context):
            kept.append(question)
        else:
            note(notices, LEFT_OUT, question.id)
    return dataclasses.replace(paragraph, questions=tuple(kept))


def _make(paragraphs, tokenizer, sizes, notices, is_training):
    questions = [question for p in paragraphs for question in p.questions]
    contexts = [p.context for p in paragraphs for _ in p.questions]
    asked = [len(p.questions) for p in paragraphs]
    paragraph = np.repeat(np.arange(len(asked)), asked)  # of each question, [Q]
    encoded = [tokenizer.encode_with_offsets(p.context) for p in paragraphs]
    spans = [np.array(found, np.int32).reshape(-1, 2) for _, found in encoded]
    tokens = np.array([len(found) for found in spans])
    question_ids, question_tokens = tokenizer.encode_flat([q.text for q in questions])
    for index in np.flatnonzero(question_tokens > sizes.max_query_length):
        note(notices, LONG_QUESTION, questions[index].id)
    kept = np.minimum(question_tokens, sizes.max_query_length)
    row_layout = tokenizer.layout.padded_after
    special = row_layout.special(True)
    sizes.require_room(special)
    lengths = sizes.max_seq_length, sizes.doc_stride
    layout = Layout(row_layout, kept + special, tokens[paragraph], *lengths)
    ids = layout.special_ids(tokenizer)
    here, question, token = layout.of_questions(kept)
    ids[here] = question_ids[begins_of(question_tokens)[question] + token]
    here, question, token = layout.in_texts
    place = begins_of(tokens)[paragraph[question]] + token
    ids[here] = np.array([i for found, _ in encoded for i in found], np.int32)[place]
    characters = np.zeros((len(ids), 2), np.int32)
    characters[here] = np.concatenate(spans)[place]
    answers = np.zeros(0, np.int32)
    if is_training:
        by_question = [spans[index] for index in paragraph]
        answers = _answers(questions, contexts, by_question, layout, notices)
    return Windows(
        questions=questions,
        contexts=contexts,
        ids=ids,
        spans=characters,
        is_max_context=layout.max_context(),
        starts=layout.starts,
        lengths=layout.lengths.astype(np.int32),
        first_lengths=layout.first_lengths.astype(np.int32),
        question_index=layout.text.astype(np.int32),
        window_index=layout.index.astype(np.int32),
        answers=answers,
        layout=row_layout,
        pad_id=tokenizer.pad_id,
    )


def _answers(questions, contexts, spans, layout, notices):
    """Makes the labels of windows, and notes answers that are moved or lost."""
    answers = [
        _answer_tokens(*facts, notices)
        for facts in zip(questions, contexts, spans, strict=True)
    ]
    labels = window_labels(layout, np.array(answers))
    learns = np.zeros(len(questions), np.bool_)
    learns[layout.text[labels[:, 2] == 0]] = True
    for index in np.flatnonzero(~learns):
        if questions[index].answers:
            lost = answers[index] == NONE
            what = NO_TOKEN_HAS_IT if lost else NO_WINDOW_HAS_IT
            note(notices, what, questions[index].id)
    return labels


def _answer_tokens(question, context, spans, notices):
    if not question.answers:
        return NONE
    answer = question.answers[0]
    first, last = first_and_last(context, spans, answer)
    end = answer.start + len(answer.text)
    if first >= 0 and (spans[first, 0] >= end or spans[last, 1] <= answer.start):
        note(notices, MOVED, question.id)
    return first, last


def window_labels(layout, answers):
    """Finds the answer's first and last token in each window, if it has the answer.

    Args:
        layout: the `Layout` of the questions' paragraphs.
        answers: int array `[questions, 2]`, first and last token in the paragraph; -1
            without an answer.

    Returns:
        int32 array `[W, 3]`; (position of [CLS], position of [CLS], 1) if the answer is
        not entirely in the window.
    """
    found = answers[layout.text] - layout.first[:, None]  # [W, 2]
    inside = (found[:, 0] >= 0) & (found[:, 1] < layout.tokens)
    places = found + layout.before[:, None]
    positions = np.where(inside[:, None], places, layout.cls_positions[:, None])
    return np.column_stack([positions, ~inside]).astype(np.int32)


def first_and_last(context, spans, answer):
    """Finds the first and the last token that overlap an answer.

    Many files place an answer at the first occurrence of its text, even within a word
    ("gold" in "golden"). For such an answer, this uses the nearest occurrence that is
    not within a word and matches token boundaries exactly, if there is one.

    Args:
        context: the paragraph.
        spans: int array `[tokens, 2]`, the characters of each token; see `Windows`.
        answer: an `Answer`.

    Returns:
        Two int; `NONE` if no token overlaps the answer.
    """
    start, end = characters(context, answer.start, answer.start + len(answer.text))
    text = context[start:end]
    tokens = np.flatnonzero(spans[:, 0] < spans[:, 1])
    begins, ends = spans[tokens].T  # both never decrease

    def overlapping(start):
        """Returns the overlapping tokens, and whether their bounds match exactly."""
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


def characters(context, start, end):
    """Strips white space from a span of the context, and returns (start, end)."""
    text = context[start:end]
    start += len(text) - len(text.lstrip())
    return start, start + len(text.strip())


def _joins(context, border):
    """Returns whether a word crosses a border, in scripts with spaces between words."""
    return 0 < border < len(context) and all(
        character.isdigit() or character.lower() != character.upper()
        for character in context[border - 1 : border + 1]
    )
