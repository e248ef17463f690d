"""Answers that come back from their tokens as they are written in the file.

  python -m benchmarks.squad.survival --predict_file=dev-v1.1.json \\
      --spm_model_file=30k-clean.model

Prints the share of the answers of a file in SQuAD's layout that survive a vocabulary,
and each of the others with the reason. A model cannot give these exactly.
"""

import dataclasses
from typing import NamedTuple

import numpy as np

from albert_tf.cli import command_line
from albert_tf.cli.command_line import option
from albert_tf.tasks.question_answering.questions import read_paragraphs
from albert_tf.tasks.question_answering.windows import NONE
from albert_tf.tasks.question_answering.windows import characters
from albert_tf.tasks.question_answering.windows import first_and_last
from albert_tf.tokenization import load_tokenizer


@dataclasses.dataclass(frozen=True)
class Options:
    predict_file: str = option(
        "File of questions with answers, in SQuAD's JSON layout."
    )
    spm_model_file: str | None = option("SentencePiece model to look at.", None)
    vocab_file: str | None = option(
        "WordPiece vocabulary to look at, instead of a SentencePiece model.", None
    )


class LostAnswer(NamedTuple):
    """An answer that its tokens do not give back, the text that they give, and why."""

    question_id: str
    text: str
    recovered: str
    reason: str


def report(options):
    """Prints the share of the answers that come back, and the others."""
    vocabulary = options.spm_model_file or options.vocab_file
    tokenizer = load_tokenizer(vocabulary)
    count, lost = lost_answers(read_paragraphs(options.predict_file), tokenizer)
    print(
        f"{count - len(lost)} of {count} answers come back from their tokens "
        f"({1 - len(lost) / count:.3%})"
    )
    for answer in lost:
        print(
            f"{answer.question_id}: {answer.text!r} becomes {answer.recovered!r}, "
            f"since {answer.reason}"
        )


def lost_answers(paragraphs, tokenizer):
    """Takes every answer to tokens and back."""
    count, lost = 0, []
    for paragraph in paragraphs:
        _, spans = tokenizer.encode_with_offsets(paragraph.context)
        spans = np.array(spans, np.int64).reshape(-1, 2)
        for question in paragraph.questions:
            for answer in question.answers:
                count += 1
                recovered, reason = _recovered(answer, paragraph.context, spans)
                if recovered != answer.text:
                    lost.append(LostAnswer(question.id, answer.text, recovered, reason))
    return count, lost


def _recovered(answer, context, spans):
    """Returns the text of an answer's tokens, and a remark if it is not the answer."""
    if not answer.is_in(context):
        return "", "it is not where its answer_start says"
    found = first_and_last(context, spans, answer)
    if found == NONE:
        return "", "the tokenizer leaves nothing of it"
    first, last = found
    start, end = characters(context, spans[first, 0], spans[last, 1])
    wanted = characters(context, answer.start, answer.start + len(answer.text))
    sides = []
    if start < wanted[0]:
        sides.append("begins inside a token")
    if end > wanted[1]:
        sides.append("ends inside a token")
    if start > wanted[0] or end < wanted[1]:
        sides.append("has characters at an end that the tokenizer drops")
    reason = " and ".join(sides) or "has white space at its ends"
    return context[start:end], f"it {reason}"


if __name__ == "__main__":
    command_line.run(Options, report)
