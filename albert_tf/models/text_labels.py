"""The base of models whose labels are of texts."""

from albert_tf.errors import UserError
from albert_tf.models.labelled_outputs import LabelledOutputs
from albert_tf.models.labelled_outputs import checked_labels
from albert_tf.models.labelled_outputs import names_in

_SINGLE, _REGRESSION = "single_label", "regression"
# Hugging Face's names of the kinds, and of labels that have none.
_PROBLEM_TYPES = {
    _SINGLE: "single_label_classification",
    "multi_label": "multi_label_classification",
    _REGRESSION: "regression",
}
LABEL_KINDS = tuple(_PROBLEM_TYPES)


class TextLabels(LabelledOutputs):
    """`LabelledOutputs` whose meaning is their `label_kind`.

    A subclass keeps in its constructor the results of `checked_text_labels`, as
    `labels`, `num_labels` and `label_kind`.
    """

    label_arguments = (*LabelledOutputs.label_arguments, "label_kind")

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


def checked_text_labels(labels, num_labels, label_kind):
    """Completes the arguments on labels: (labels, num_labels, label_kind).

    Args:
        labels: their names, or None.
        num_labels: how many outputs there are, or None.
        label_kind: one of `LABEL_KINDS`, or None.

    Raises:
        UserError: they do not fit each other.
    """
    if label_kind == _REGRESSION and num_labels is None:
        num_labels = 1
    labels, num_labels = checked_labels(labels, num_labels)
    _check_kind(label_kind, labels, num_labels)
    # With labels, one of them applies unless something else is said.
    return labels, num_labels, None if label_kind == _SINGLE else label_kind


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
    """Returns constructor arguments for the labels of a Hugging Face model.

    Args:
        problem_type: the entry of `config.json`, of whatever type.
        labels: the result of `names_in`.
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
