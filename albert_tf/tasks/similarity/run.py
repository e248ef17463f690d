"""Implements `albert-tf similarity`."""

import dataclasses

from albert_tf.errors import UserError
from albert_tf.tasks.commands.run import check_steps
from albert_tf.tasks.commands.run import run_task
from albert_tf.tasks.registry import read_task
from albert_tf.tasks.similarity import OF_PAIRS
from albert_tf.tasks.similarity import TEACHER_DISTANCES
from albert_tf.tasks.similarity.reading import read_pairs
from albert_tf.tasks.similarity.task import Similarity

_GIVEN = "default"  # the name of the prompt of a flag


def train_and_apply(options):
    """Runs the command once; see `TaskOptions.command`."""
    examples = read_pairs(options, options.needed_roles)
    tuned = options.tuned(task_class=Similarity)
    task = tuned[1] if tuned else _learned(options, examples["dev"])
    task = _prompted(task, options)
    tuned = tuned and (tuned[0], task)
    applies = options.do_eval, options.do_predict
    return run_task(options, task, examples, *applies, tuned)


def check_flags(options):
    """Checks the flags; see `TaskOptions.command`."""
    check_steps(options, reads_folder=True)
    options.check_long_texts()
    if options.freeze_encoder:
        raise UserError(
            "--freeze_encoder leaves nothing to train, for vectors have no head; leave "
            "it out."
        )
    if options.symmetric and options.loss != OF_PAIRS:
        raise UserError("--symmetric is for --loss=info_nce; leave it out.")
    if options.teacher_distance != TEACHER_DISTANCES[0] and not options.teacher:
        raise UserError(
            f"--teacher_distance={options.teacher_distance} needs --teacher; leave it "
            "out."
        )
    if options.prompt is not None and options.prompt_name is not None:
        raise UserError("Give either --prompt_name or --prompt.")
    _sizes(options)


def _sizes(options):
    """Parses --dimensions to a tuple of int."""
    parts = options.dimensions.split(",") if options.dimensions else []
    if not all(part.strip().isdecimal() and int(part) for part in parts):
        raise UserError(
            f"--dimensions={options.dimensions} are no sizes; expected numbers such as "
            "64,128,384."
        )
    return tuple(map(int, parts))


def _prompted(task, options):
    """Sets the prompts of the flags."""
    if options.prompt is not None:
        own = {"prompts": {**task.prompts, _GIVEN: options.prompt}}
        own |= {"default_prompt_name": _GIVEN, "prompt_names": ()}
    elif options.prompt_name is not None:
        own = {"prompt_names": tuple(options.prompt_name.split(","))}
    else:
        return task
    task = dataclasses.replace(task, **own)
    task.row_prompts  # noqa: B018  # refuses unknown names
    return task


def _learned(options, held_out):
    """Makes the task of the flags, with the pooling of the initial model."""
    scored = held_out.labels.ndim == 1
    told = None
    if options.opened and not options.from_scratch:
        told = read_task(options.opened)
    fields = told.model_arguments() if isinstance(told, Similarity) else {}
    fields.pop("window_pooling", None)  # a flag of its own
    for name in ("pooling", "normalize"):
        if getattr(options, name) is not None:
            fields[name] = getattr(options, name)
    names = ("loss", "temperature", "symmetric", "teacher_distance")
    fields |= {name: getattr(options, name) for name in names}
    sizes = _sizes(options)
    return Similarity(name=options.task_name, dimensions=sizes, scored=scored, **fields)
