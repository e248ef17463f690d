"""The kinds of task: the one place where a new one is registered."""

import importlib
import os

from albert_tf.checkpoints.model_directory import HEAD_FILE
from albert_tf.checkpoints.model_directory import read_training_info
from albert_tf.errors import UserError

TASKS = {
    "classification": {
        "single_label": "albert_tf.tasks.classification.label_kinds.SingleLabel",
        "multi_label": "albert_tf.tasks.classification.label_kinds.MultiLabel",
        "regression": "albert_tf.tasks.classification.label_kinds.Regression",
    },
    "multiple_choice": {
        "multiple_choice": "albert_tf.tasks.multiple_choice.task.MultipleChoice",
    },
    "tagging": {"tagging": "albert_tf.tasks.tagging.task.Tagging"},
    "similarity": {"similarity": "albert_tf.tasks.similarity.task.Similarity"},
    "question_answering": {
        "squad_v1": "albert_tf.tasks.question_answering.task.SquadV1",
        "squad_v2": "albert_tf.tasks.question_answering.task.SquadV2",
    },
}
"""By family and kind, the class of the `Task`; it is imported when it is needed."""


def task_class(kind):
    """Returns the `Task` class of a kind.

    Raises:
        KeyError: no family has it.
    """
    places = {kind: place for kinds in TASKS.values() for kind, place in kinds.items()}
    return class_at(places[kind])


def class_at(place):
    """Returns the class that "module.Class" names; its module's errors are raised."""
    module, _, name = place.rpartition(".")
    return getattr(importlib.import_module(module), name)


def create_task(kind, name, **fields):
    """Makes a `Task` of a kind."""
    return task_class(kind)(name=name, **fields)


def read_task(source, asked=None):
    """Reads the task of the model in a directory, and its training info.

    Args:
        source: the model's directory, or its `Checkpoint`, which may be of another
            program.
        asked: the `Task` that it is to be applied to, which decides where two kinds of
            models have the same tensors and the checkpoint names none; or None.

    Returns:
        The `Task`, None if nothing tells it; the content of `training_info.json`.

    Raises:
        UserError: `source` holds no checkpoint, or as `task_of`.
    """
    # Imported here, so that commands that name tasks do not wait for TensorFlow.
    from albert_tf.checkpoints.loading import Checkpoint
    from albert_tf.checkpoints.loading import read_checkpoint

    directory = source.path if isinstance(source, Checkpoint) else source
    info, found = read_training_info(directory), (None, {})
    has_head = os.path.isfile(os.path.join(directory, HEAD_FILE))
    if has_head or "task" not in info or isinstance(source, Checkpoint):
        classes = asked.model_classes().values() if asked else ()
        names = [model_class.huggingface_architecture() for model_class in classes]
        found = read_checkpoint(source).head(names)
    return task_of(info, directory, *found), info


def task_of(info, source, model_class=None, head=()):
    """Returns a model's task: its training's, else the one that its head tells.

    A head of questions tells it, a head of classes only with their names.

    Args:
        info: the dict of `training_info.json`, or of an export's description.
        source: the model's name in messages.
        model_class: the class of the model, None where nothing else is known of it.
        head: the constructor arguments of its head.

    Returns:
        A `Task`; None if the model tells none.

    Raises:
        UserError: this version of albert_tf does not know the task, its labels make
            no sense, or the model has another head.
    """
    trained = "task" in info
    fields = info["task"] if trained else model_class and model_class.told_task(head)
    if fields is None:
        return None
    try:
        task = create_task(**fields)
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(
            f"This version of albert_tf does not know the task {fields!r} in the "
            f"training info of {source} ({error}); fine-tune with this version."
            if trained
            else f"The head of an {model_class.__name__} describes no task: {error}."
        ) from error
    for name, value in task.model_arguments().items() if trained and head else ():
        if head.get(name, value) != value:
            raise UserError(
                f"{source} holds a model of {name}={head[name]}, but its "
                f"training_info.json describes a task of {name}={value}; the two come "
                "from different runs."
            )
    return task
