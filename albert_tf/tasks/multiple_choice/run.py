"""What run_race.py does."""

import dataclasses

from albert_tf.errors import UserError
from albert_tf.tasks.commands.repeated_runs import run_repeatedly
from albert_tf.tasks.commands.run import run_task
from albert_tf.tasks.commands.steps import check_steps
from albert_tf.tasks.commands.steps import needed_roles
from albert_tf.tasks.multiple_choice.reading.race import LEVELS
from albert_tf.tasks.multiple_choice.rows import check_lengths
from albert_tf.tasks.multiple_choice.sources import choice_source
from albert_tf.tasks.registry import create_task


def choose(options):
    """Does what the flags ask for, once or several times; see `RaceOptions`.

    Returns:
        As `run_repeatedly`.

    Raises:
        UserError: flags, files or checkpoints that do not fit.
    """
    return run_repeatedly(options, _train_and_apply, check_flags)


def _train_and_apply(options):
    source = source_from(options)
    # The official --do_predict scores, too.
    scores = options.do_eval or any(s.is_labelled for s in source.test.values())
    steps = dataclasses.replace(options, do_eval=scores)
    return run_task(steps, source, options.do_predict)


def check_flags(options):
    """Refuses flags that cannot be followed or would have no effect.

    Raises:
        UserError: it names them.
    """
    applies = check_steps(options)
    if applies and not options.data_dir:
        raise UserError("--data_dir is needed to train, evaluate or predict.")
    only = [name for name in ("high_only", "middle_only") if getattr(options, name)]
    if len(only) > 1:
        raise UserError("--high_only and --middle_only exclude each other; give one.")
    if only and options.task_name != "race":
        raise UserError(f"--{only[0]} is for --task_name=race.")
    check_lengths(options.max_seq_length, options.max_qa_length)


def source_from(options):
    """The `Source` that the flags name.

    Raises:
        UserError: --data_dir lacks what they need.
    """
    task = create_task(
        "multiple_choice",
        options.task_name,
        max_qa_length=options.max_qa_length,
        dropout_prob=options.dropout_prob,
    )
    excluded = {"middle": options.high_only, "high": options.middle_only}
    return choice_source(
        task,
        options.data_dir,
        needed_roles(options),
        [level for level in LEVELS if not excluded[level]],
        options.skip_bad_rows,
    )
