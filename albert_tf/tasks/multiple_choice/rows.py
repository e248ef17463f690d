"""Questions with options as rows of token ids, one row per option.

Source: `RaceProcessor` and `convert_single_example` in race_utils.py of
google-research/albert.
"""

import numpy as np

from albert_tf.errors import UserError
from albert_tf.tasks.tokenized_examples import assemble_rows
from albert_tf.tasks.tokenized_examples import begins_of
from albert_tf.tasks.tokenized_examples import grouped
from albert_tf.tokenization.parallel import encode_flat_in_parallel

SPECIAL = 3
"""The number of special tokens: [CLS] and two [SEP]."""
BLANK = "_"
"""Placeholder for the option in a question."""


def check_lengths(max_seq_length, max_qa_length):
    """Checks that the lengths leave room for the text.

    Raises:
        UserError: they do not; the message names both lengths.
    """
    if max_seq_length <= max_qa_length + SPECIAL:
        raise UserError(
            f"max_seq_length={max_seq_length} leaves no room for a text beside "
            f"max_qa_length={max_qa_length} and {SPECIAL} special tokens; raise the "
            "first or lower the second."
        )


def ending(question, option, tokenizer):
    """Makes a row's second text: the question with the option in its blank or appended.

    The option replaces each blank, "_"; see `Tokenizer.prepare`.
    """
    question, option = tokenizer.prepare(question), tokenizer.prepare(option)
    if BLANK in question:
        return question.replace(BLANK, option)
    return f"{question} {option}"


def tokenize_questions(questions, tokenizer, max_seq_length, max_qa_length):
    """Makes `TokenizedExamples` `[N, choices]` of `[CLS] text [SEP] ending [SEP]`.

    XLNet's rows are `text [SEP] ending [SEP] [CLS]`. Endings are truncated at the
    beginning, and then the text at its end.

    Args:
        questions: list of `Question`.
        tokenizer: the tokenizer, which determines the layout of rows.
        max_seq_length: maximum number of tokens in a row, including special tokens.
        max_qa_length: maximum number of tokens in an ending.

    Raises:
        UserError: there is no room for the text.
    """
    check_lengths(max_seq_length, max_qa_length)
    # Each text is tokenized once for all its questions and options.
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
    return grouped(rows, counts)
