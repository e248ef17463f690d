"""Implements `albert-tf race`."""

from albert_tf.errors import UserError
from albert_tf.tasks.commands.run import check_steps
from albert_tf.tasks.commands.run import run_task
from albert_tf.tasks.multiple_choice import questions
from albert_tf.tasks.multiple_choice.rows import check_lengths
from albert_tf.tasks.registry import create_task
from albert_tf.tasks.tables import has_labels

_EXPECTED = {
    "race": "RACE/{role}/middle and RACE/{role}/high",
    "c3": "c3-d-{role}.json or c3-m-{role}.json",
    "custom": "{role}.jsonl",
}


def train_and_apply(options):
    """Runs the command once; see `TaskOptions.command`."""
    task, examples = _read_folder(options)
    # The official --do_predict scores, too.
    test = examples.get("test")
    evaluates = options.do_eval or (test is not None and test.is_labelled)
    return run_task(options, task, examples, evaluates, options.do_predict)


def check_flags(options):
    """Checks the flags; see `TaskOptions.command`."""
    check_steps(options, reads_folder=True)
    options.check_early_exit()
    only = [name for name in ("high_only", "middle_only") if getattr(options, name)]
    if len(only) > 1:
        raise UserError("--high_only and --middle_only exclude each other; give one.")
    if only and options.task_name != "race":
        raise UserError(f"--{only[0]} is for --task_name=race.")
    check_lengths(options.max_seq_length, options.max_qa_length)


def _read_folder(options):
    """Reads the task of the flags, and its questions by role."""
    task = create_task(
        "multiple_choice",
        options.task_name,
        max_qa_length=options.max_qa_length,
        dropout_prob=options.dropout_prob,
    )
    return task, {role: _read(options, role) for role in options.needed_roles}


def _read(options, role):
    """Reads the `ChoiceFile` for a role."""
    name, data_dir = options.task_name, options.data_dir
    if name == "race":
        excluded = {"middle": options.high_only, "high": options.middle_only}
        levels = [level for level in questions.LEVELS if not excluded[level]]
        parts = questions.race_parts(data_dir, role, levels)
    elif name == "c3":
        parts = questions.c3_parts(data_dir, role)
    else:
        parts = questions.jsonl_parts(data_dir, role)
    if not parts:
        raise UserError(
            f"--data_dir={data_dir} has no {_EXPECTED[name].format(role=role)}; name "
            f"the folder of the {role} set, or another --task_name than {name}."
        )
    is_known = role != "test" or name != "custom"
    labelled = is_known or has_labels(*parts, questions.LABEL)
    return questions.read_questions(parts, role, labelled, options.skip_bad_rows)
