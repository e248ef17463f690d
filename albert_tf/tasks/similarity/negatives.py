"""Hard negatives: texts that are close to an anchor, yet less than its positive."""

import numpy as np

from albert_tf.tasks.similarity.search import nearest
from albert_tf.tasks.similarity.search import unit


def hard_negatives(anchors, positives, texts, encode, count, ranks, margin):
    """Finds negatives for pairs among the texts nearest to their anchors.

    A negative is neither the anchor nor a positive of an equal anchor, and its cosine
    to the anchor is below the positive's by at least `margin` of it: the rule
    TopK-PercPos of Moreira et al., "NV-Retriever" (2024), section 4.1, which leaves out
    texts that are likely to be positives themselves.

    Args:
        anchors, positives: the texts of the pairs, lists of str.
        texts: the texts to search, a list of distinct str with all positives.
        encode: maps texts and their `prompt_type`, "query" or "document", to an
            iterator of vectors, float32 `[any, hidden]`.
        count: the largest number of negatives of a pair.
        ranks: the number of nearest texts to choose from.
        margin: a share of the positive's cosine.

    Returns:
        For each pair the places of its negatives in `texts`, nearest first.
    """
    numbers = {text: place for place, text in enumerate(texts)}
    positive = np.array([numbers[text] for text in positives])
    queries = {text: place for place, text in enumerate(dict.fromkeys(anchors))}
    anchor = np.array([queries[text] for text in anchors])
    vectors = unit(np.concatenate([*encode([*queries], prompt_type="query")]))
    own = np.zeros(len(anchor), np.float32)  # cosines of the pairs

    def blocks():
        begin = 0
        for block in map(unit, encode(texts, prompt_type="document")):
            here = (positive >= begin) & (positive < begin + len(block))
            pairs = vectors[anchor[here]] * block[positive[here] - begin]
            own[here] = pairs.sum(axis=1)
            begin += len(block)
            yield block

    cosines, places = nearest(vectors, blocks(), ranks)
    excluded = [{numbers.get(text)} for text in queries]
    for query, place in zip(anchor, positive, strict=True):
        excluded[query].add(place)
    limits = own - margin * np.abs(own)
    return [
        [
            int(place)
            for place, cosine in zip(places[query], cosines[query], strict=True)
            if cosine <= limit and place not in excluded[query]
        ][:count]
        for query, limit in zip(anchor, limits, strict=True)
    ]
