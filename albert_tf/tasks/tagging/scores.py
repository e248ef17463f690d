"""Scores of entities, as conlleval and seqeval count them, and of plain tags."""

import collections


def entity_scores(expected, found, types=()):
    """Scores the entities of all types together, and of each type.

    An entity is right if its type, its beginning and its end are. Without an entity to
    divide by, a figure is 0.

    Args:
        expected, found: for each text a list of entities, tuples whose first item is
            the type.
        types: of which there are figures even if no entity has them.

    Returns:
        A dict of floats: `precision`, `recall`, `f1`, and the same as `PER_precision`
        for a type PER.
    """
    right, answered, asked = (collections.Counter() for _ in range(3))
    for gold, predicted in zip(expected, found, strict=True):
        gold, predicted = set(gold), set(predicted)
        asked.update(entity[0] for entity in gold)
        answered.update(entity[0] for entity in predicted)
        right.update(entity[0] for entity in gold & predicted)
    scores = _figures("", right.total(), answered.total(), asked.total())
    for label in sorted({*types, *asked, *answered}):
        counts = right[label], answered[label], asked[label]
        scores |= _figures(f"{label}_", *counts)
    return scores


def tag_scores(expected, found):
    """Computes accuracy and macro F1 of plain tags.

    Macro F1 is the mean over the tags that are expected or found, as scikit-learn's.

    Args:
        expected: of each word its tag; None, which does not count, where it is unknown.
        found: of each word the tag predicted.

    Returns:
        A dict of floats: `accuracy` and `macro_f1`, 0 without a word.
    """
    pairs = [pair for pair in zip(expected, found, strict=True) if pair[0] is not None]
    right = collections.Counter(gold for gold, own in pairs if gold == own)
    total = collections.Counter(tag for pair in pairs for tag in pair)
    by_tag = [2 * right[tag] / count for tag, count in total.items()]
    return {
        "accuracy": right.total() / max(len(pairs), 1),
        "macro_f1": sum(by_tag) / max(len(by_tag), 1),
    }


def _figures(prefix, right, answered, asked):
    return {
        f"{prefix}precision": right / answered if answered else 0.0,
        f"{prefix}recall": right / asked if asked else 0.0,
        f"{prefix}f1": 2 * right / (answered + asked) if answered + asked else 0.0,
    }
