"""The base of models whose outputs have names."""

from albert_tf.errors import UserError

_DEFAULT_NAME = "LABEL_{}"  # Hugging Face's, of an unnamed label


class LabelledOutputs:
    """For a `LinearClassifier` with an output for each label.

    Its constructor sets `num_labels` and, where they are known, `labels`: a tuple of
    names in the order of their ids.
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
