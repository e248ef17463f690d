"""The bases of models whose outputs have names: labels of texts and of tokens."""

import re
from collections.abc import Iterable
from typing import Any

from albert_tf.checkpoints.sentence_transformers import check_activation
from albert_tf.errors import UserError

_DEFAULT_NAME = "LABEL_{}"  # Hugging Face's, of an unnamed label
_TAG = re.compile(r"O|[BIES]-.+", re.DOTALL)
_NO_NAME = re.compile(r"LABEL_\d+|")
_SINGLE, _REGRESSION = "single_label", "regression"
# Hugging Face's names of the kinds.
_PROBLEM_TYPES = {
    _SINGLE: "single_label_classification",
    "multi_label": "multi_label_classification",
    _REGRESSION: "regression",
}
LABEL_KINDS = tuple(_PROBLEM_TYPES)


class LabelledOutputs:
    """A mixin before the base of a linear classifier with an output for each label.

    The base takes a config, the number of outputs and the rate of its dropout. The
    constructor sets `num_labels` and, where they are known, `labels`: a tuple of names
    in the order of their ids.
    """

    labels = None
    # Constructor arguments that say what the outputs mean.
    label_arguments = ("num_labels", "labels")

    def head_config(self):
        labels = {"labels": list(self.labels)} if self.labels else {}
        return {"num_labels": self.num_labels, **super().head_config(), **labels}

    def head_config_to_huggingface(self):
        task = (self.task_info() or {}).get("task", {})
        names = task.get("labels") or map(_DEFAULT_NAME.format, range(self.num_labels))
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
        """Reads the `label_arguments` that the entries of a `config.json` tell."""
        labels = names_in(entries)
        if labels is None or len(set(labels)) < len(labels):
            return {}
        return {"num_labels": len(labels), "labels": labels}

    @classmethod
    def resolve_arguments(cls, saved, given, tensors=None):
        number = saved.get("num_labels")
        outputs = number if tensors is None else len(tensors.get(cls._bias(), ()))
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

    def task_info(self):
        saved = super().task_info() or {}
        told = self.told_task(self.head_config())
        if told and _meaning(told) != _meaning(saved.get("task", {})):
            return {**saved, "task": told}
        return saved or None

    @classmethod
    def _bias(cls):
        """Returns the official name of the classifier's bias, `[labels]`."""
        return cls.head_table[-1].official


def checked_labels(labels, num_labels):
    """Returns the labels as a tuple, or None, and their number.

    Raises:
        UserError: there are none, or another number of different ones.
    """
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
    return labels, num_labels


def names_in(entries):
    """Lists the names of labels in a Hugging Face `config.json`, str.

    They are from `id2label`; None if it does not name each id once.
    """
    # Their library leaves out the names of two unnamed labels.
    default = {str(i): _DEFAULT_NAME.format(i) for i in range(2)}
    names = entries.get("id2label") or default
    ids = [str(i) for i in range(len(names))] if isinstance(names, dict) else None
    if ids is None or names.keys() != set(ids):
        return None
    return [str(names[i]) for i in ids]


def _meaning(task):
    """Returns a task's kind and labels; it may know more, as of pairs."""
    return task.get("kind"), tuple(task.get("labels", ()))


class TextLabels(LabelledOutputs):
    """`LabelledOutputs` whose meaning is their `label_kind`.

    Args:
        config, num_labels, classifier_dropout_prob, labels, label_kind: as of
            `AlbertForSequenceClassification`.
    """

    purpose = "text_classification"
    label_arguments = (*LabelledOutputs.label_arguments, "label_kind")

    def __init__(
        self,
        config: Any,
        num_labels: int | None = None,
        classifier_dropout_prob: float = 0.1,
        labels: Iterable[str] | None = None,
        label_kind: str | None = None,
        **kwargs: Any,
    ) -> None:
        told = _completed(labels, num_labels, label_kind)
        super().__init__(config, told[1], classifier_dropout_prob, **kwargs)
        self.labels, self.num_labels, self.label_kind = told

    def head_config(self):
        kind = {"label_kind": self.label_kind} if self.label_kind else {}
        return {**super().head_config(), **kind}

    def head_config_to_huggingface(self):
        task = (self.task_info() or {}).get("task", {})
        kind = _PROBLEM_TYPES.get(task.get("kind") or self.label_kind)
        own = {"problem_type": kind} if kind else {}
        return {**super().head_config_to_huggingface(), **own}

    @classmethod
    def labels_from_huggingface(cls, entries):
        check_activation(entries)
        labels = names_in(entries)
        if labels is None:
            return {}
        kinds = {theirs: ours for ours, theirs in _PROBLEM_TYPES.items()}
        usual = _REGRESSION if len(labels) == 1 else _SINGLE
        kind = kinds.get(str(entries.get("problem_type")), usual)
        found = {"num_labels": len(labels), "label_kind": kind}
        if kind == _REGRESSION:
            return found
        return {} if len(set(labels)) < len(labels) else {**found, "labels": labels}

    @classmethod
    def told_task(cls, head):
        labels = head.get("labels")
        kind = head.get("label_kind") or (_SINGLE if labels else None)
        if kind is None or (kind == _REGRESSION and head.get("num_labels", 1) > 1):
            return None  # no task has several numbers
        # Whether it was trained on pairs of texts, only the user knows.
        task = {"name": "custom", "kind": kind, "pair": None}
        return {**task, "labels": list(labels)} if labels else task


def _completed(labels, num_labels, label_kind):
    """Completes the arguments on labels, or refuses those that do not fit others."""
    if label_kind == _REGRESSION and num_labels is None:
        num_labels = 1
    labels, num_labels = checked_labels(labels, num_labels)
    if label_kind not in (None, *LABEL_KINDS):
        raise UserError(
            f"label_kind={label_kind!r}: expected one of {', '.join(LABEL_KINDS)}."
        )
    if label_kind not in (None, _REGRESSION) and not labels:
        raise UserError(f"label_kind={label_kind!r} needs labels.")
    if label_kind == _REGRESSION and labels:
        raise UserError(f"label_kind={label_kind!r} has no labels; leave them out.")
    # With labels, one of them applies unless something else is said.
    return labels, num_labels, None if label_kind == _SINGLE else label_kind


class TokenLabels(LabelledOutputs):
    """`LabelledOutputs` for each token, whose labels may tell a task of tagging.

    Args:
        config, num_labels, classifier_dropout_prob, labels: as of
            `AlbertForTokenClassification`.
    """

    purpose = "token_classification"

    def __init__(
        self,
        config: Any,
        num_labels: int | None = None,
        classifier_dropout_prob: float = 0.1,
        labels: Iterable[str] | None = None,
        **kwargs: Any,
    ) -> None:
        labels, num_labels = checked_labels(labels, num_labels)
        super().__init__(config, num_labels, classifier_dropout_prob, **kwargs)
        self.labels, self.num_labels = labels, num_labels

    @classmethod
    def told_task(cls, head):
        labels = head.get("labels") or ()
        if not labels or not all(isinstance(tag, str) for tag in labels):
            return None
        task = {"name": "custom", "kind": "tagging", "labels": list(labels)}
        are_tags = [bool(_TAG.fullmatch(tag)) for tag in labels]
        if "O" in labels and all(are_tags):
            return task
        # A mixture, and classes without names, tell no task.
        if any(are_tags) or any(map(_NO_NAME.fullmatch, labels)):
            return None
        return {**task, "scheme": "plain"}
