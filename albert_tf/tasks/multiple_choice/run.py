"""The run of run_race.py."""

import dataclasses

from albert_tf.errors import UserError
from albert_tf.tasks.commands.run import leaving_early
from albert_tf.tasks.commands.run import run_task
from albert_tf.tasks.commands.steps import check_steps
from albert_tf.tasks.commands.steps import needed_roles
from albert_tf.tasks.multiple_choice.reading import jsonl
from albert_tf.tasks.multiple_choice.reading.c3 import c3_parts
from albert_tf.tasks.multiple_choice.reading.questions import read_questions
from albert_tf.tasks.multiple_choice.reading.race import LEVELS
from albert_tf.tasks.multiple_choice.reading.race import race_parts
from albert_tf.tasks.multiple_choice.rows import check_lengths
from albert_tf.tasks.registry import create_task

_EXPECTED = {
    "race": "RACE/{role}/middle and RACE/{role}/high",
    "c3": "c3-d-{role}.json or c3-m-{role}.json",
    "custom": "{role}.jsonl",
}


def train_and_apply(options, start):
    """Obeys the flags once; see `run_steps`."""
    task, examples = read_folder(options)
    task = leaving_early(task, options)
    # The official --do_predict scores, too.
    test = examples.get("test")
    scores = options.do_eval or (test is not None and test.is_labelled)
    steps = dataclasses.replace(options, do_eval=scores)
    return run_task(steps, start, task, examples, options.do_predict)


def check_flags(options):
    """Refuses flags that cannot be followed or would have no effect.

    Raises:
        UserError: it names them.
    """
    check_steps(options, reads_folder=True)
    options.check_early_exit()
    only = [name for name in ("high_only", "middle_only") if getattr(options, name)]
    if len(only) > 1:
        raise UserError("--high_only and --middle_only exclude each other; give one.")
    if only and options.task_name != "race":
        raise UserError(f"--{only[0]} is for --task_name=race.")
    check_lengths(options.max_seq_length, options.max_qa_length)


def read_folder(options):
    """Reads the task that the flags name, and its questions by role.

    Raises:
        UserError: --data_dir lacks files that they need.
    """
    task = create_task(
        "multiple_choice",
        options.task_name,
        max_qa_length=options.max_qa_length,
        dropout_prob=options.dropout_prob,
    )
    excluded = {"middle": options.high_only, "high": options.middle_only}
    return task, choice_examples(
        task.name,
        options.data_dir,
        needed_roles(options),
        [level for level in LEVELS if not excluded[level]],
        options.skip_bad_rows,
    )


def choice_examples(name, data_dir, roles, levels=LEVELS, skip_bad_rows=False):
    """Reads the questions of a folder, `ChoiceFile`s by role.

    Args:
        name: of the task, a key of `_EXPECTED`.
        data_dir: the folder.
        roles: the roles that are needed, of "train", "dev" and "test".
        levels: which levels of RACE.
        skip_bad_rows: leave bad questions out and count them.

    Raises:
        UserError: one of `roles` is missing.
    """
    examples = {}
    for role in roles:
        parts = _parts(name, data_dir, role, levels)
        if parts is None:
            expected = _EXPECTED[name].format(role=role)
            raise UserError(
                f"--data_dir={data_dir} has no {expected}; name the folder of the "
                f"{role} set, or another --task_name than {name}."
            )
        labelled = role != "test" or name != "custom" or jsonl.is_labelled(*parts)
        examples[role] = read_questions(parts, role, labelled, skip_bad_rows)
    return examples


def _parts(name, data_dir, role, levels):
    if name == "race":
        return race_parts(data_dir, role, levels)
    return (c3_parts if name == "c3" else jsonl.jsonl_parts)(data_dir, role)
