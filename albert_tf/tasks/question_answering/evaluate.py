"""Scores predictions as SQuAD's own scripts do, or CMRC's if they are Chinese.

    albert-tf squad-scores DATA PREDICTIONS
    albert-tf squad-scores DATA PREDICTIONS \\
        --na-prob-file=null_odds.json

DATA is a file in SQuAD's layout with answers, PREDICTIONS a JSON object of answers by
question id, "" for none. SQuAD 1.1 is scored as evaluate-v1.1.py does, SQuAD 2.0 as
evaluate-v2.0.py does. With --null_score_diff_threshold, answers whose odds reach it
count as none, as albert-tf squad writes them. docs/reading_comprehension.md says more.
"""

import dataclasses
import math
import sys

from albert_tf.cli.command_line import option
from albert_tf.cli.command_line import run
from albert_tf.cli.command_line import split_positional
from albert_tf.errors import UserError
from albert_tf.errors import shortened
from albert_tf.io.files import json_text
from albert_tf.io.files import read_json_object
from albert_tf.tasks.question_answering import scores
from albert_tf.tasks.question_answering.questions import counted
from albert_tf.tasks.question_answering.questions import read_paragraphs
from albert_tf.tasks.question_answering.questions import read_squad

_POSITIONAL = ("data", "predictions")


@dataclasses.dataclass(frozen=True)
class EvaluateOptions:
    """The flags of `python -m albert_tf.tasks.question_answering.evaluate`."""

    data: str = option(
        "File of questions with answers, in SQuAD's JSON layout; the first argument "
        "without a flag's name means the same."
    )
    predictions: str = option(
        "JSON file of answers by question id; the second argument without a flag's "
        "name means the same."
    )
    na_prob_file: str | None = option(
        "JSON file with a number for each question id; a high number means no answer.",
        None,
    )
    na_prob_thresh: float = option(
        "Number in --na_prob_file above which a question counts as unanswered, as in "
        "evaluate-v2.0.py.",
        scores.OFFICIAL_NA_PROB_THRESH,
    )
    null_score_diff_threshold: float | None = option(
        "Number in --na_prob_file from which a question counts as unanswered, as in "
        "albert-tf squad.",
        None,
    )
    version: int | None = option(
        "Version of SQuAD, 1 or 2; by default the command finds it in the data.",
        None,
        minimum=1,
        maximum=2,
    )
    unit: str = option(
        "Unit of F1: words as in SQuAD's scripts, or characters as in the script of "
        "CMRC 2018; "
        "auto is characters where most letters of questions and answers are Chinese.",
        "auto",
        ["auto", scores.WORDS, scores.CHARACTERS],
    )


def evaluate(options):
    """Prints the scores on standard output, and warnings on standard error."""
    questions = [q for p in read_paragraphs(options.data) for q in p.questions]
    if not questions:
        raise UserError(f"{options.data} holds no question.")
    predictions = _by_id(options.predictions, str, "texts")
    null_odds = None
    if options.na_prob_file is not None:
        null_odds = _by_id(options.na_prob_file, (int, float), "numbers")
        _check_covers(null_odds, questions, options.na_prob_file)
    if options.null_score_diff_threshold is not None:
        predictions = _after_threshold(predictions, null_odds, options)
    version = _version(options, questions)
    unit = scores.unit_of(questions) if options.unit == "auto" else options.unit
    raw = scores.raw_scores(questions, predictions, version, unit)
    if unit == scores.CHARACTERS:
        _mind("F1 is of characters, as in CMRC 2018; pass --unit=words for SQuAD's")
    if missing := [own.id for own in questions if own.id not in predictions]:
        _mind(
            f"{options.predictions} has no prediction for {counted(missing)}, "
            f"which score 0: {shortened(missing)}"
        )
    if version == 1:
        figures = scores.version_1_figures(raw)
        print(json_text(figures, indent=None, ensure_ascii=True), end="")
        return
    figures = scores.version_2_figures(raw, null_odds, options.na_prob_thresh)
    if null_odds is not None:
        figures |= scores.best_figures(raw, predictions, null_odds)
        _mind(
            f"best_exact and best_f1 use thresholds chosen on {options.data} itself, "
            "and would be lower on other questions"
        )
    print(json_text(figures, ensure_ascii=True), end="")


def _version(options, questions):
    unanswered = [question.id for question in questions if not question.answers]
    version = options.version
    if version is None:
        declared = str(read_squad(options.data).get("version", "")).lower()
        has_odds = options.na_prob_file is not None
        is_second = unanswered or has_odds or declared.startswith(("2", "v2"))
        version = 2 if is_second else 1
    if version == 1 and unanswered:
        raise UserError(
            f"{options.data} has {counted(unanswered)} without an answer "
            f"({shortened(unanswered)}), which SQuAD 1.1 cannot score; pass "
            "--version=2."
        )
    return version


def _by_id(path, kind, what):
    values = read_json_object(path)
    for identity, value in values.items():
        if not isinstance(value, kind) or isinstance(value, bool):
            raise UserError(
                f"{path} has {value!r} for the question {identity!r}; expected {what} "
                "by question id."
            )
    return values


def _check_covers(null_odds, questions, path):
    missing = [question.id for question in questions if question.id not in null_odds]
    if missing:
        raise UserError(f"{path} lacks {counted(missing)}: {shortened(missing)}.")


def _after_threshold(predictions, null_odds, options):
    if null_odds is None:
        raise UserError("--null_score_diff_threshold needs --na-prob-file.")
    threshold = options.null_score_diff_threshold
    return {
        identity: "" if null_odds.get(identity, -math.inf) >= threshold else text
        for identity, text in predictions.items()
    }


def _mind(message):
    print(f"note: {message}.", file=sys.stderr)


def main(argv=None):
    """Runs the command line."""
    name, *arguments = sys.argv if argv is None else argv
    given, positional = split_positional(arguments)
    named = zip(_POSITIONAL, positional, strict=False)
    flags = [
        *map(_with_underscores, given),
        *(f"--{position}={argument}" for position, argument in named),
        *positional[len(_POSITIONAL) :],
    ]
    run(EvaluateOptions, evaluate, argv=[name, *flags])


def _with_underscores(argument):
    """Replaces the hyphens in flag names, which evaluate-v2.0.py uses."""
    flag, sign, value = argument.partition("=")
    if not flag.startswith("-"):
        return argument
    dashes = flag[: len(flag) - len(flag.lstrip("-"))]
    return dashes + flag.lstrip("-").replace("-", "_") + sign + value


if __name__ == "__main__":
    main()
