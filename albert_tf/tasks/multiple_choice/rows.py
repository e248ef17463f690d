"""Questions with options as rows of token ids: a row an option.

Source: `RaceProcessor` and `convert_single_example` in race_utils.py of
google-research/albert.
"""

import dataclasses

import numpy as np

from albert_tf.errors import UserError
from albert_tf.tasks.tokenized_examples import assemble_rows
from albert_tf.tasks.tokenized_examples import begins_of
from albert_tf.tokenization.parallel import encode_flat_in_parallel

SPECIAL = 3
"""[CLS] and two [SEP]."""
BLANK = "_"
"""Stands in a question where the option belongs."""


def check_lengths(max_seq_length, max_qa_length):
    """Refuses lengths that leave no room for the text.

    Raises:
        UserError: it names both.
    """
    if max_seq_length <= max_qa_length + SPECIAL:
        raise UserError(
            f"max_seq_length={max_seq_length} leaves no room for a text beside "
            f"max_qa_length={max_qa_length} and {SPECIAL} special tokens; raise the "
            "first or lower the second."
        )


def ending(question, option, tokenizer):
    """Makes a row's second text: the question with the option in it, or after it.

    The option takes the place of each blank, "_"; see `Tokenizer.prepare`.
    """
    question, option = tokenizer.prepare(question), tokenizer.prepare(option)
    if BLANK in question:
        return question.replace(BLANK, option)
    return f"{question} {option}"


def tokenize_questions(questions, tokenizer, max_seq_length, max_qa_length):
    """Makes `TokenizedExamples` `[N, choices]` of `[CLS] text [SEP] ending [SEP]`.

    XLNet's rows are `text [SEP] ending [SEP] [CLS]`. An ending keeps its last tokens;
    then the text loses its end.

    Args:
        questions: list of `Question`.
        tokenizer: its layout is that of the rows.
        max_seq_length: tokens of a row at most, the special ones counted.
        max_qa_length: tokens of an ending at most.

    Raises:
        UserError: no text would fit.
    """
    check_lengths(max_seq_length, max_qa_length)
    # A text is tokenized once for all its questions and their options.
    contexts = {}
    of_questions = [contexts.setdefault(q.context, len(contexts)) for q in questions]
    counts = np.array([len(q.options) for q in questions])
    context = np.repeat(of_questions, counts)  # [rows]
    first, first_tokens = encode_flat_in_parallel(tokenizer, list(contexts))
    second, second_tokens = encode_flat_in_parallel(
        tokenizer, [ending(q.text, o, tokenizer) for q in questions for o in q.options]
    )
    second_left = np.minimum(second_tokens, max_qa_length)
    room = max_seq_length - tokenizer.layout.special(True) - second_left
    left = np.minimum(first_tokens[context], room)
    last = begins_of(second_tokens) + second_tokens - second_left  # the last ones'
    begins = begins_of(first_tokens)[context]
    if tokenizer.rules.keeps_ends:
        begins += first_tokens[context] - left
    rows = assemble_rows(
        tokenizer,
        (first, begins, left),
        (second, last, second_left),
    )
    return dataclasses.replace(
        rows,
        **{
            name: _by_question(getattr(rows, name), counts)
            for name in ("starts", "lengths", "first_lengths")
        },
    )


def _by_question(values, counts):
    """Arranges values of rows, question by question, as `[N, choices]`; 0 for none."""
    found = np.zeros((len(counts), counts.max()), values.dtype)
    found[np.arange(counts.max()) < counts[:, None]] = values
    return found
