"""From scores of tags to tags: the best of each word, or the best legal sequence.

N words of a text, L tags.
"""

import numpy as np

from albert_tf.tasks.tagging.schemes import OUTSIDE
from albert_tf.tasks.tagging.schemes import PLAIN
from albert_tf.tasks.tagging.schemes import begins
from albert_tf.tasks.tagging.schemes import is_legal

GREEDY, LEGAL = "greedy", "legal"
DECODERS = (GREEDY, LEGAL)
FORBIDDEN = -1e9
"""Score added to a sequence for a step that a scheme does not have."""


def steps(labels, scheme):
    """Returns each step's addend, tag to tag, float32 `[L, L]`: 0 if legal."""
    legal = [[is_legal(before, tag, scheme) for tag in labels] for before in labels]
    return np.where(np.array(legal), 0, FORBIDDEN).astype(np.float32)


def beginnings(labels, scheme):
    """Returns whether an entity begins at a tag behind another, bool `[L + 1, L]`.

    The last row is for the tag of the first word, behind which there is none.
    """
    before = (*labels, OUTSIDE)
    return np.array([[begins(last, tag, scheme) for tag in labels] for last in before])


def finds_best(scheme, decoder):
    """Returns whether each word has its most probable tag: no sequence is illegal."""
    return decoder == GREEDY or scheme == PLAIN


def scores_without_token(labels, scheme):
    """Returns logits, float32 `[L]`, of a word of which the tokenizer leaves nothing.

    It is in no entity; any plain tag is as good as another.
    """
    wrong = 0 if scheme == PLAIN else FORBIDDEN
    return np.array([0 if tag == OUTSIDE else wrong for tag in labels], np.float32)


def best_tags(log_probs, labels, scheme, decoder):
    """Finds the tags of a text, int `[N]`.

    Args:
        log_probs: float32 `[N, L]`.
        labels: the tags by id; O is one of them unless they are plain.
        scheme: one of `SCHEMES`.
        decoder: "greedy", for each word the most probable tag; or "legal", the most
            probable sequence that the scheme has (Viterbi, 1967; nothing is learned).
    """
    if finds_best(scheme, decoder) or not len(log_probs):
        return log_probs.argmax(axis=1)
    allowed, outside = steps(labels, scheme), labels.index(OUTSIDE)
    scores = log_probs[0] + allowed[outside]  # [L]
    origins = []
    for word in log_probs[1:]:
        paths = scores[:, None] + allowed  # [L, L]
        origins.append(paths.argmax(axis=0))
        scores = paths.max(axis=0) + word
    tags = [int((scores + allowed[:, outside]).argmax())]
    for origin in reversed(origins):
        tags.append(int(origin[tags[-1]]))
    return np.array(tags[::-1])
