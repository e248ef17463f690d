"""Scores of guesses that read neither text nor question."""

import collections


def baseline_scores(questions):
    """Computes the accuracies of three guesses, by metric.

    `random_accuracy` is expected of a random option. `longest_accuracy` is for the
    option with the most characters (the first of equal ones), `position_accuracy` for
    the place at which most of these very questions have their answer.

    Args:
        questions: list of `Question`, with labels.
    """
    count = len(questions)
    longest = sum(
        question.label == _longest(question.options) for question in questions
    )
    places = collections.Counter(question.label for question in questions)
    return {
        "random_accuracy": sum(1 / len(q.options) for q in questions) / count,
        "longest_accuracy": longest / count,
        "position_accuracy": max(places.values()) / count,
    }


def _longest(options):
    return max(range(len(options)), key=lambda place: len(options[place]))
