"""The kinds of task: the one place where a new one is registered."""

import importlib
import os

from albert_tf.checkpoints.model_directory import HEAD_FILE
from albert_tf.checkpoints.model_directory import check_labels
from albert_tf.checkpoints.model_directory import read_head
from albert_tf.errors import UserError

TASKS = {
    "classification": {
        "single_label": "albert_tf.tasks.classification.single_label.SingleLabel",
        "multi_label": "albert_tf.tasks.classification.multi_label.MultiLabel",
        "regression": "albert_tf.tasks.classification.regression.Regression",
    },
    "multiple_choice": {
        "multiple_choice": "albert_tf.tasks.multiple_choice.task.MultipleChoice",
    },
    "tagging": {"tagging": "albert_tf.tasks.tagging.task.Tagging"},
    "question_answering": {
        "squad_v1": "albert_tf.tasks.question_answering.task.SquadV1",
        "squad_v2": "albert_tf.tasks.question_answering.task.SquadV2",
    },
}
"""By family and kind, the class of the `Task`; it is imported when it is needed."""


def task_class(kind):
    """The `Task` class of a kind.

    Raises:
        KeyError: no family has it.
    """
    places = {kind: place for kinds in TASKS.values() for kind, place in kinds.items()}
    module, _, name = places[kind].rpartition(".")
    return getattr(importlib.import_module(module), name)


def create_task(kind, name, **fields):
    """A `Task` of a kind."""
    return task_class(kind)(name=name, **fields)


def task_told_by(directory, asked=None):
    """The task that the model in `directory` can only be of; None if it tells none.

    Models that other programs fine-tuned come without training info.

    Args:
        directory: of the model.
        asked: the `Task` that it is to be applied to, which decides where two kinds of
            models have the same tensors and the checkpoint names none; or None.

    Raises:
        UserError: `directory` holds no checkpoint.
    """
    # Imported here, so that commands that name tasks do not wait for TensorFlow.
    from albert_tf.checkpoints.loading import find_head

    classes = asked.model_classes if asked else ()
    names = [model_class.huggingface_architecture() for model_class in classes]
    return task_told_by_head(*find_head(directory, names))


def task_told_by_head(model_class, head):
    """The task that a model can only be of; None if it tells none.

    A head of questions says enough, a head of classes only with their names.

    Args:
        model_class: the class of the model.
        head: the constructor arguments of its head.

    Raises:
        UserError: what the head says of labels makes no sense.
    """
    fields = model_class.told_task(head)
    if fields is not None:
        try:
            return create_task(**fields)
        except (KeyError, TypeError, ValueError) as error:
            raise UserError(
                f"The head of an {model_class.__name__} describes no task: {error}."
            ) from error
    for kind in (kind for kinds in TASKS.values() for kind in kinds):
        task_type = task_class(kind)
        if (
            task_type.is_told_by_model
            and task_type(name=kind).model_class is model_class
        ):
            return task_type(name=kind)
    return None


def task_from_info(info, directory):
    """The task of a model directory's training info, None if it holds no task.

    Args:
        info: the content of `training_info.json`.
        directory: where it lies, for messages.

    Raises:
        UserError: this version of albert_tf does not know the task.
    """
    if "task" not in info:
        return None
    try:
        task = create_task(**info["task"])
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(
            f"This version of albert_tf does not know the task {info['task']!r} in the "
            f"training info of {directory} ({error}); fine-tune with this version."
        ) from error
    if os.path.isfile(os.path.join(directory, HEAD_FILE)):
        _, head = read_head(directory)
        check_labels(head, info, directory)
        _check_head(task, head, directory)
    return task


def _check_head(task, head, directory):
    for name, value in task.model_arguments().items():
        if head.get(name, value) != value:
            raise UserError(
                f"{directory} holds a model of {name}={head[name]}, but its "
                f"training_info.json describes a task of {name}={value}; the two come "
                "from different runs."
            )
