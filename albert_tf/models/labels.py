"""The bases of classifiers whose outputs have names: labels of texts and of tokens."""

from collections.abc import Iterable
from typing import Any

from albert_tf.checkpoints.sentence_transformers import ACTIVATIONS
from albert_tf.checkpoints.sentence_transformers import applies_sigmoid
from albert_tf.checkpoints.sentence_transformers import check_activation
from albert_tf.errors import UserError
from albert_tf.models.features import named_features
from albert_tf.models.windows import check_window_pooling
from albert_tf.models.windows import over_windows
from albert_tf.models.windows import refuse_windows

_DEFAULT_NAME = "LABEL_{}"  # Hugging Face's name for an unnamed label
_SINGLE, _REGRESSION = "single_label", "regression"
# Hugging Face's names of label kinds.
_PROBLEM_TYPES = {
    _SINGLE: "single_label_classification",
    "multi_label": "multi_label_classification",
    _REGRESSION: "regression",
}
LABEL_KINDS = tuple(_PROBLEM_TYPES)


class TokenLabels:
    """A mixin that names the outputs of the linear classifier that follows it.

    The classifier's constructor takes a config, the number of outputs and a dropout
    rate.

    Args:
        config, num_labels, classifier_dropout_prob, labels: see
            `AlbertForTokenClassification`.

    Attributes:
        labels: a tuple of the names in the order of their ids; None if unknown.
        num_labels: the number of outputs.

    Raises:
        UserError: there are no outputs, or their number differs from the number of
            distinct labels.
    """

    purpose = "token_classification"

    # Constructor arguments that say what the outputs mean.
    label_arguments = ("num_labels", "labels")

    def __init__(
        self,
        config: Any,
        num_labels: int | None = None,
        classifier_dropout_prob: float = 0.1,
        labels: Iterable[str] | None = None,
        **kwargs: Any,
    ) -> None:
        labels = None if labels is None else tuple(labels)
        if num_labels is None and labels is not None:
            num_labels = len(labels)
        if num_labels is None or num_labels < 1:
            raise UserError(f"num_labels must be at least 1, got {num_labels}.")
        if labels is not None and len(set(labels)) != num_labels:
            raise UserError(
                f"labels must be {num_labels} different names, got "
                f"{', '.join(map(str, labels))}."
            )
        super().__init__(config, num_labels, classifier_dropout_prob, **kwargs)
        self.labels, self.num_labels = labels, num_labels

    def head_config(self):
        labels = {"labels": list(self.labels)} if self.labels else {}
        return {"num_labels": self.num_labels, **super().head_config(), **labels}

    def head_config_to_huggingface(self):
        names = self.labels or map(_DEFAULT_NAME.format, range(self.num_labels))
        labels = {name: i for i, name in enumerate(names)}
        return {
            "label2id": labels,
            "id2label": {str(i): label for label, i in labels.items()},
            **super().head_config_to_huggingface(),
        }

    @classmethod
    def head_config_from_huggingface(cls, entries):
        labels = cls.labels_from_huggingface(entries)
        return {**labels, **super().head_config_from_huggingface(entries)}

    @classmethod
    def labels_from_huggingface(cls, entries):
        """Reads the `label_arguments` from the entries of a `config.json`."""
        labels = _names_in(entries)
        if labels is None or len(set(labels)) < len(labels):
            return {}
        return {"num_labels": len(labels), "labels": labels}

    @classmethod
    def resolve_arguments(cls, saved, given, tensors=None):
        number = saved.get("num_labels")
        bias = cls.head_table[-1].official  # [labels]
        outputs = number if tensors is None else len(tensors.get(bias, ()))
        # The labels of a checkpoint count if there are as many as outputs, and the
        # caller asks for no others.
        if "labels" in given or {given.get("num_labels", number), outputs} != {number}:
            saved = {k: v for k, v in saved.items() if k not in cls.label_arguments}
        found = super().resolve_arguments(saved, given, tensors)
        if tensors is None or "num_labels" in found or "labels" in found:
            return found
        if not outputs:
            raise UserError(
                "The checkpoint has no classifier, so the number of labels is "
                "unknown; give num_labels."
            )
        return {**found, "num_labels": outputs}


class TextLabels(TokenLabels):
    """`TokenLabels` for classifiers of whole texts, with a `label_kind`.

    Args:
        config, num_labels, classifier_dropout_prob, labels, label_kind,
            window_pooling: see `AlbertForSequenceClassification`.
    """

    purpose = "text_classification"
    label_arguments = (*TokenLabels.label_arguments, "label_kind")

    def __init__(
        self,
        config: Any,
        num_labels: int | None = None,
        classifier_dropout_prob: float = 0.1,
        labels: Iterable[str] | None = None,
        label_kind: str | None = None,
        window_pooling: str | None = None,
        **kwargs: Any,
    ) -> None:
        check_window_pooling(window_pooling)
        if label_kind not in (None, *LABEL_KINDS):
            raise UserError(
                f"label_kind={label_kind!r}: expected one of {', '.join(LABEL_KINDS)}."
            )
        if label_kind is not None and (label_kind == _REGRESSION) == bool(labels):
            needed = "has no labels; leave them out" if labels else "needs labels"
            raise UserError(f"label_kind={label_kind!r} {needed}.")
        if label_kind == _REGRESSION and num_labels is None:
            num_labels = 1
        rate = classifier_dropout_prob
        super().__init__(config, num_labels, rate, labels, **kwargs)
        # None stands for "single_label", the default.
        self.label_kind = None if label_kind == _SINGLE else label_kind
        self.window_pooling = window_pooling

    def call(self, features, training=False, dropout_seed=None):
        return self.of_windows(features, training, dropout_seed)

    def of_windows(self, features, *arguments):
        """Returns `classify` of features, for texts in windows the pooled logits."""
        features = named_features(features, self.features_read)
        return over_windows(
            features,
            lambda rows: self.classify(rows, *arguments),
            self.window_pooling,
        )

    def classify(self, features, *arguments):
        """Computes the logits of features `[rows, tokens]`, `[rows, num_labels]`."""
        return self.logits(features, *arguments)

    def head_config(self):
        own = {"label_kind": self.label_kind, "window_pooling": self.window_pooling}
        return {**super().head_config(), **{k: v for k, v in own.items() if v}}

    def require_official_head(self, form):
        super().require_official_head(form)
        refuse_windows(self.window_pooling)

    def head_config_to_huggingface(self):
        kind = self.label_kind or (_SINGLE if self.labels else None)
        own = {"problem_type": _PROBLEM_TYPES[kind]} if kind else {}
        if kind == _REGRESSION:
            own |= ACTIVATIONS["linear.Identity"]
        elif kind == "multi_label" and self.num_labels == 1:
            own |= ACTIVATIONS["activation.Sigmoid"]
        return {**super().head_config_to_huggingface(), **own}

    @classmethod
    def labels_from_huggingface(cls, entries):
        check_activation(entries)
        labels = _names_in(entries)
        if labels is None:
            return {}
        kinds = {theirs: ours for ours, theirs in _PROBLEM_TYPES.items()}
        usual = _REGRESSION if len(labels) == 1 else _SINGLE
        kind = kinds.get(str(entries.get("problem_type")), usual)
        kind = "multi_label" if applies_sigmoid(entries) else kind
        found = {"num_labels": len(labels), "label_kind": kind}
        if kind == _REGRESSION:
            return found
        return {} if len(set(labels)) < len(labels) else {**found, "labels": labels}


def _names_in(entries):
    """Lists the names in `id2label`; None if it does not name each id once."""
    # transformers leaves out the names of two unnamed labels.
    default = {str(i): _DEFAULT_NAME.format(i) for i in range(2)}
    names = entries.get("id2label") or default
    ids = [str(i) for i in range(len(names))] if isinstance(names, dict) else None
    if ids is None or names.keys() != set(ids):
        return None
    return [str(names[i]) for i in ids]
