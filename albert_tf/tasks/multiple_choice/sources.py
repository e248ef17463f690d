"""Folders of questions as the `Source` of a run."""

from albert_tf.errors import UserError
from albert_tf.tasks.multiple_choice.reading import jsonl
from albert_tf.tasks.multiple_choice.reading.c3 import c3_parts
from albert_tf.tasks.multiple_choice.reading.questions import ChoiceSplit
from albert_tf.tasks.multiple_choice.reading.race import LEVELS
from albert_tf.tasks.multiple_choice.reading.race import race_parts
from albert_tf.tasks.source import Source

_EXPECTED = {
    "race": "RACE/{role}/middle and RACE/{role}/high",
    "c3": "c3-d-{role}.json or c3-m-{role}.json",
    "custom": "{role}.jsonl",
}


def choice_source(task, data_dir, roles, levels=LEVELS, skip_bad_rows=False):
    """The `Source` of a folder.

    Args:
        task: a `MultipleChoice`; its name is a key of `_EXPECTED`.
        data_dir: the folder.
        roles: those of "train", "dev" and "test" that are needed.
        levels: which levels of RACE.
        skip_bad_rows: leave bad questions out and count them.

    Raises:
        UserError: one of `roles` is missing.
    """
    splits = {}
    for role in roles:
        parts = _parts(task.name, data_dir, role, levels)
        if parts is None:
            expected = _EXPECTED[task.name].format(role=role)
            raise UserError(
                f"--data_dir={data_dir} has no {expected}; name the folder of the "
                f"{role} set, or another --task_name than {task.name}."
            )
        labelled = role != "test" or task.name != "custom" or jsonl.is_labelled(*parts)
        splits[role] = ChoiceSplit(
            ", ".join(part.path for part in parts),
            is_labelled=labelled,
            is_training=role == "train",
            parts=parts,
        )
    return Source.by_role(task, splits, skip_bad_rows)


def _parts(name, data_dir, role, levels):
    if name == "race":
        return race_parts(data_dir, role, levels)
    return (c3_parts if name == "c3" else jsonl.jsonl_parts)(data_dir, role)
