"""`AnswerBeamsHead` in NumPy, with the layers on vectors side by side."""

import numpy as np


def _log_softmax(logits, p_mask):
    logits = np.where(p_mask == 1, -1e30, logits)
    logits = logits - logits.max(-1, keepdims=True)
    return logits - np.log(np.exp(logits).sum(-1, keepdims=True))


class Reference:
    """Scores of the head of a model.

    Args:
        model: an `AlbertForAnswerableQuestions` or an `XLNetForQuestionAnswering`.
        features: its features, without `p_mask`.
        p_mask: `[batch, tokens]`.
        none: the place of the token that stands for no answer, `[batch]`.
    """

    def __init__(self, model, features, p_mask, none):
        self.hidden = model.encoder()(features)["sequence_output"].numpy()
        self.weights = {n: np.array(v) for n, v in model.head_variables().items()}
        self.p_mask, self.none = p_mask, none
        starts = self._dense("start_logits/dense", self.hidden)[..., 0]
        self.starts = _log_softmax(starts, p_mask)

    def _dense(self, scope, inputs):
        bias = self.weights.get(f"{scope}/bias", 0)
        return inputs @ self.weights[f"{scope}/kernel"] + bias

    def _states(self, places):
        return self.hidden[np.arange(len(places)), places]  # [B, H]

    def ends(self, start):
        """Returns log-probabilities `[batch, tokens]` given starts `[batch]`."""
        chosen = self._states(start)[:, None] + 0 * self.hidden
        both = np.concatenate([self.hidden, chosen], -1)
        both = np.tanh(self._dense("end_logits/dense_0", both))
        both = both - both.mean(-1, keepdims=True)
        both = both / np.sqrt((both**2).mean(-1, keepdims=True))
        both = both * self.weights["end_logits/LayerNorm/gamma"]
        both = both + self.weights["end_logits/LayerNorm/beta"]
        logits = self._dense("end_logits/dense_1", both)[..., 0]
        return _log_softmax(logits, self.p_mask)

    def answer(self, start=None):
        """Returns the answer class `[batch]` of true starts, or of expected ones."""
        if start is None:
            state = np.einsum("bt,bth->bh", np.exp(self.starts), self.hidden)
        else:
            state = self._states(start)
        both = np.concatenate([state, self._states(self.none)], -1)
        both = np.tanh(self._dense("answer_class/dense_0", both))
        return self._dense("answer_class/dense_1", both)[:, 0]
