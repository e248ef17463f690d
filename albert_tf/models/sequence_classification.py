"""Classification (or regression) of a text or a pair of texts."""

import keras

from albert_tf.errors import UserError
from albert_tf.models.features import named_features
from albert_tf.models.labelled_outputs import LabelledOutputs
from albert_tf.models.labelled_outputs import checked_labels
from albert_tf.models.labelled_outputs import names_in
from albert_tf.models.linear_classifier import LinearClassifier
from albert_tf.models.registry import TASK_FORM

_SINGLE, _REGRESSION = "single_label", "regression"
# Hugging Face's names of the kinds, and of labels that have none.
_PROBLEM_TYPES = {
    _SINGLE: "single_label_classification",
    "multi_label": "multi_label_classification",
    _REGRESSION: "regression",
}
LABEL_KINDS = tuple(_PROBLEM_TYPES)


@keras.saving.register_keras_serializable(package="albert_tf")
class AlbertForSequenceClassification(LabelledOutputs, LinearClassifier):
    """The encoder with a linear classifier on its pooled output.

    Official `classifier_utils.create_model`.

    Args:
        config: an `AlbertConfig`.
        num_labels: number of classes; 1 for regression. `labels` makes it optional.
        classifier_dropout_prob: dropout on the pooled output, in training.
        labels: names of the classes in the order of their ids; `save_pretrained` keeps
            them for prediction and export.
        label_kind: what the outputs mean: "single_label" (each text has one of the
            labels), "multi_label" (any number of them) or "regression" (the output is a
            number, and has no labels).
        **kwargs: `depth_loop` and `rematerialize`, see `AlbertModel`.

    Call: as `AlbertModel`. Returns logits, float32 `[batch, num_labels]`.

    Raises:
        UserError: `num_labels` is not positive or not the number of `labels`, or more
            tokens than `config.max_position_embeddings`.

    Example:
        model = AlbertForSequenceClassification.from_pretrained(path, num_labels=3)
        model.compile(
            optimizer="adam",
            loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        )
    """

    served_forms = {TASK_FORM: "albert_tf.serving.heads.builders:task_head"}
    default_served_form = None  # nobody knows what the classes are
    label_arguments = (*LabelledOutputs.label_arguments, "label_kind")

    def __init__(
        self,
        config,
        num_labels=None,
        classifier_dropout_prob=0.1,
        labels=None,
        label_kind=None,
        **kwargs,
    ):
        if label_kind == _REGRESSION and num_labels is None:
            num_labels = 1
        labels, num_labels = checked_labels(labels, num_labels)
        _check_kind(label_kind, labels, num_labels)
        super().__init__(config, num_labels, classifier_dropout_prob, **kwargs)
        # With labels, one of them applies unless something else is said.
        self.label_kind = None if label_kind == _SINGLE else label_kind
        self.num_labels = num_labels
        self.labels = labels

    def call(self, features, training=False, dropout_seed=None):
        return self.logits(named_features(features), training, dropout_seed)

    def head_config(self):
        kind = {"label_kind": self.label_kind} if self.label_kind else {}
        return {**super().head_config(), **kind}

    def head_config_to_huggingface(self):
        task = (self.task_info() or {}).get("task", {})
        kind = _PROBLEM_TYPES.get(task.get("kind"))
        own = {"problem_type": kind} if kind else {}
        return {**super().head_config_to_huggingface(), **own}

    @classmethod
    def labels_from_huggingface(cls, entries):
        return _labels_of(entries.get("problem_type"), names_in(entries))

    @classmethod
    def told_task(cls, head):
        labels = head.get("labels")
        kind = head.get("label_kind") or (_SINGLE if labels else None)
        if kind is None:
            return None
        # Whether it was trained on pairs of texts, only the user knows.
        task = {"name": "custom", "kind": kind, "pair": None}
        return {**task, "labels": list(labels)} if labels else task


def _check_kind(label_kind, labels, num_labels):
    if label_kind not in (None, *LABEL_KINDS):
        raise UserError(
            f"label_kind={label_kind!r}: expected one of {', '.join(LABEL_KINDS)}."
        )
    if label_kind not in (None, _REGRESSION) and not labels:
        raise UserError(f"label_kind={label_kind!r} needs labels.")
    if label_kind == _REGRESSION and (labels or num_labels != 1):
        raise UserError(
            f"label_kind={label_kind!r} has one output and no labels; leave num_labels "
            "and labels out."
        )


def _labels_of(problem_type, labels):
    """Constructor arguments for the labels of a Hugging Face model.

    Args:
        problem_type: the entry of `config.json`, of whatever type.
        labels: what `names_in` found.
    """
    if labels is None:
        return {}
    kinds = {theirs: ours for ours, theirs in _PROBLEM_TYPES.items()}
    kind = _REGRESSION if len(labels) == 1 else _SINGLE
    kind = kinds.get(str(problem_type), kind)
    found = {"num_labels": len(labels), "label_kind": kind}
    if kind == _REGRESSION:
        return found if len(labels) == 1 else {}
    if len(set(labels)) < len(labels):
        return {}
    return {**found, "labels": labels}
