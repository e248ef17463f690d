"""Classification (or regression) of a text or a pair of texts."""

import keras

from albert_tf.errors import UserError
from albert_tf.models.features import named_features
from albert_tf.models.pooled_classifier import PooledClassifier
from albert_tf.models.registry import TASK_FORM

_SINGLE, _REGRESSION = "single_label", "regression"
# Hugging Face's names of the kinds, and of labels that have none.
_PROBLEM_TYPES = {
    _SINGLE: "single_label_classification",
    "multi_label": "multi_label_classification",
    _REGRESSION: "regression",
}
LABEL_KINDS = tuple(_PROBLEM_TYPES)
_DEFAULT_NAME = "LABEL_{}"
_OF_LABELS = ("num_labels", "labels", "label_kind")


@keras.saving.register_keras_serializable(package="albert_tf")
class AlbertForSequenceClassification(PooledClassifier):
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
    labels = None

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
        if labels is not None:
            labels = tuple(labels)
            num_labels = len(labels) if num_labels is None else num_labels
            if len(set(labels)) != num_labels:
                raise UserError(
                    f"labels must be {num_labels} different names, got "
                    f"{', '.join(map(str, labels))}."
                )
        if num_labels is None or num_labels < 1:
            raise UserError(f"num_labels must be at least 1, got {num_labels}.")
        _check_kind(label_kind, labels, num_labels)
        super().__init__(config, num_labels, classifier_dropout_prob, **kwargs)
        # With labels, one of them applies unless something else is said.
        self.label_kind = None if label_kind == _SINGLE else label_kind
        self.num_labels = num_labels
        self.labels = labels

    def call(self, features, training=False, dropout_seed=None):
        return self.pooled_logits(named_features(features), training, dropout_seed)

    def head_config(self):
        labels = {"labels": list(self.labels)} if self.labels else {}
        kind = {"label_kind": self.label_kind} if self.label_kind else {}
        return {
            "num_labels": self.num_labels,
            **super().head_config(),
            **labels,
            **kind,
        }

    def head_config_to_huggingface(self):
        task = (self.task_info() or {}).get("task", {})
        names = task.get("labels") or map(_DEFAULT_NAME.format, range(self.num_labels))
        labels = {name: i for i, name in enumerate(names)}
        kind = _PROBLEM_TYPES.get(task.get("kind"))
        return {
            "label2id": labels,
            "id2label": {str(i): label for label, i in labels.items()},
            **super().head_config_to_huggingface(),
            **({"problem_type": kind} if kind else {}),
        }

    @classmethod
    def head_config_from_huggingface(cls, entries):
        # Their library leaves out the names of two labels that nobody named.
        default = {str(i): _DEFAULT_NAME.format(i) for i in range(2)}
        labels = _labels_of(
            entries.get("problem_type"), entries.get("id2label") or default
        )
        return {**labels, **super().head_config_from_huggingface(entries)}

    @classmethod
    def fitting_head(cls, arguments, tensors):
        # What is said of the labels counts if there are as many as outputs.
        if arguments.get("num_labels") == len(tensors.get("output_weights", ())):
            return arguments
        return {k: v for k, v in arguments.items() if k not in _OF_LABELS}

    @classmethod
    def changed_head(cls, saved, given):
        # Other labels take the place of all that the checkpoint says of its own.
        other_number = given.get("num_labels", saved.get("num_labels"))
        if "labels" in given or other_number != saved.get("num_labels"):
            saved = {k: v for k, v in saved.items() if k not in _OF_LABELS}
        return {**saved, **given}

    @classmethod
    def told_task(cls, head):
        labels = head.get("labels")
        kind = head.get("label_kind") or (_SINGLE if labels else None)
        if kind is None:
            return None
        # Whether it was trained on pairs of texts, only the user knows.
        task = {"name": "custom", "kind": kind, "pair": None}
        return {**task, "labels": list(labels)} if labels else task

    def task_info(self):
        saved = super().task_info() or {}
        told = self.told_task(self.head_config())
        if told and _meaning(told) != _meaning(saved.get("task", {})):
            return {**saved, "task": told}
        return saved or None

    @classmethod
    def complete_arguments(cls, arguments, tensors):
        if "num_labels" in arguments or "labels" in arguments:
            return arguments
        if "output_weights" not in tensors:
            raise UserError(
                "The checkpoint has no classifier, so nothing tells how many labels "
                "the model has; give num_labels."
            )
        return {**arguments, "num_labels": len(tensors["output_weights"])}


def _meaning(task):
    """What a task says of the outputs; it may know more, as of pairs."""
    return task.get("kind"), tuple(task.get("labels", ()))


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


def _labels_of(problem_type, names):
    """Constructor arguments for the labels of a Hugging Face model.

    Args:
        problem_type: the entry of `config.json`, of whatever type.
        names: `id2label` there; it tells nothing unless it names each id once.
    """
    ids = [str(i) for i in range(len(names))] if isinstance(names, dict) else None
    if ids is None or names.keys() != set(ids):
        return {}
    labels = [str(names[i]) for i in ids]
    kinds = {theirs: ours for ours, theirs in _PROBLEM_TYPES.items()}
    kind = _REGRESSION if len(ids) == 1 else _SINGLE
    kind = kinds.get(str(problem_type), kind)
    found = {"num_labels": len(ids), "label_kind": kind}
    if kind == _REGRESSION:
        return found if len(ids) == 1 else {}
    if len(set(labels)) < len(labels):
        return {}
    return {**found, "labels": labels}
