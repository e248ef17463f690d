"""The task registry: imports every module that defines a task.

Import the module of a new task here; its class registers itself.
"""

from albert_tf.errors import UserError
from albert_tf.tasks.classification import text_task  # noqa: F401
from albert_tf.tasks.multiple_choice import task as multiple_choice  # noqa: F401
from albert_tf.tasks.question_answering import task as questions  # noqa: F401
from albert_tf.tasks.ranking import task as ranking  # noqa: F401
from albert_tf.tasks.similarity import task as similarity  # noqa: F401
from albert_tf.tasks.tagging import task as tagging  # noqa: F401
from albert_tf.tasks.task import Task


def create_task(kind, name, **fields):
    """Makes a `Task` of a kind; raises KeyError if no class has that kind."""
    return Task.kinds[kind](name=name, **fields)


def read_task(opened, asked=None):
    """Returns the `Task` of a `Bundle`; see `task_of`.

    The `Task` that the model is to be applied to, `asked`, decides where the folder
    names no task: between two model classes of the same tensors, and between two kinds
    of task that the head fits.
    """
    classes = asked.model_classes().values() if asked else ()
    names = [model_class.huggingface_architecture() for model_class in classes]
    model_class, head = opened.head(names)
    if asked and "task" not in opened.info and model_class in classes:
        told = asked.told(head)
        if told is not None:
            return create_task(asked.kind, **told)
    return task_of(opened.info, opened.path, model_class, head)


def task_of(info, source, model_class=None, head=()):
    """Returns a model's `Task`: from its training, else by `Task.told`, or None.

    Args:
        info: the dict of `training_info.json`, or of an export's metadata.
        source: the model's name in messages.
        model_class: the class of the model; None if only `info` is known.
        head: the constructor arguments of its head.

    Raises:
        UserError: this version of albert_tf does not know the task, its labels are
            invalid, or the model has another head.
    """
    trained = "task" in info
    fields = info["task"] if trained else _told(model_class, head)
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


def _told(model_class, head):
    """Returns the task fields, including the kind, that a model's head determines."""
    purpose = model_class and model_class.purpose
    for kind, known in Task.kinds.items():
        told = known.told(head) if known.purpose == purpose else None
        if told is not None:
            return {"kind": kind, **told}
    return None
