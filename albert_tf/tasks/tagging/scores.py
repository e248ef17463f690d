"""Precision, recall and F1 of entities, as conlleval and seqeval count them."""

import collections


def entity_scores(expected, found, types=()):
    """Scores of entities of all types together, and of each type.

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


def _figures(prefix, right, answered, asked):
    return {
        f"{prefix}precision": right / answered if answered else 0.0,
        f"{prefix}recall": right / asked if asked else 0.0,
        f"{prefix}f1": 2 * right / (answered + asked) if answered + asked else 0.0,
    }
