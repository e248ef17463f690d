"""Early exit: heads on the layers before the last, and when to stop there."""

import keras
from keras import ops

from albert_tf.exit_rule import EXIT_RULES
from albert_tf.layers.heads import ClassificationHead

_SAME_LABEL = 0.5  # predicted labels are 1, others are 0


@keras.saving.register_keras_serializable(package="albert_tf")
class ExitClassifiers(ClassificationHead):
    """A `ClassificationHead` for each layer but the last, with stacked weights.

    Stacking lets a loop over depth pick the weights of its layer. As in PABEE, all
    heads share the pooler.

    Args:
        config: an `AlbertConfig`.
        num_labels: width of each head's output.
        initializer_range: standard deviation of the initial weights.

    Call: `[batch, layers - 1, hidden]` to float32 `[batch, layers - 1, labels]`.
    """

    @property
    def stacked(self):
        return (self.config.num_hidden_layers - 1,)

    def call(self, pooled):
        pooled = ops.cast(pooled, "float32")
        logits = ops.einsum("blh,lkh->blk", pooled, self.output_weights)
        return logits + self.output_bias

    def of_layer(self, pooled, layer, last):
        """Computes logits after one layer, float32 `[batch, labels]`.

        Args:
            pooled: `[batch, hidden]`.
            layer: the layer's number from 0, an int32 scalar.
            last: the `ClassificationHead` of the last layer.
        """

        def taken(earlier, own):
            stack = ops.concatenate([earlier, ops.expand_dims(own, 0)])
            return ops.take(stack, layer, axis=0)

        weights = taken(self.output_weights, last.output_weights)  # [labels, hidden]
        bias = taken(self.output_bias, last.output_bias)
        return ops.matmul(ops.cast(pooled, "float32"), ops.transpose(weights)) + bias


def first_state(logits, kind):
    """Returns the state of `leaving` before the first layer, for logits of this shape.

    The state is the last predictions, float32 `[rows, …]`, and for how many layers they
    have not changed, float32 `[rows]`.
    """
    last = _predictions(logits, kind)
    return ops.full_like(last, float("nan")), ops.zeros_like(last[:, 0])


def leaving(logits, state, rule, kind, threshold=None):
    """Decides which rows leave after a layer: bool `[rows]`, and the new state.

    Args:
        logits: float32 `[rows, outputs]` of the layer's head.
        state: `first_state`, or the state after the previous layer.
        rule: an `ExitRule`.
        kind: what the outputs mean, one of `models.labels.LABEL_KINDS`.
        threshold: a float32 scalar that replaces the rule's.
    """
    threshold = rule.threshold if threshold is None else threshold
    if rule.name != "patience":
        sure = confidence(logits, rule.name, kind)
        above = EXIT_RULES[rule.name].leaves_above
        return sure > threshold if above else sure < threshold, state
    last, count = state
    now = _predictions(logits, kind)
    most = rule.tolerance if kind == "regression" else _SAME_LABEL
    same = ops.all(ops.abs(now - last) < most, axis=-1)
    count = ops.where(same, count + 1, 0.0)
    return count >= threshold, (now, count)


def _predictions(logits, kind):
    """Returns the predictions whose changes "patience" counts: `[rows, outputs]`."""
    if kind == "regression":
        return logits
    if kind == "multi_label":
        return ops.cast(logits > 0, "float32")
    # Not `ops.argmax`, which reads the sign of zeros; ONNX cannot.
    best = ops.max(logits, axis=-1, keepdims=True)
    return ops.cast(logits >= best, "float32")


def confidence(logits, name, kind):
    """Computes the value that a rule compares with its threshold, float32 `[rows]`.

    Args:
        logits: float32 `[rows, outputs]`.
        name: name of an `ExitRule` other than "patience".
        kind: see `leaving`; with several labels, the least confident one counts.
    """
    several = kind == "multi_label"
    logits = two_sided(logits) if several else logits
    shares = ops.softmax(logits)
    if name == "probability":
        largest = ops.max(shares, axis=-1)
        return ops.min(largest, axis=-1) if several else largest
    entropies = -ops.sum(shares * ops.log_softmax(logits), axis=-1)
    return ops.max(entropies, axis=-1) if several else entropies


def two_sided(logits):
    """Makes `[rows, labels, 2]`, whose softmax is each label's sigmoid and the rest."""
    return ops.stack([logits, ops.zeros_like(logits)], axis=-1)
