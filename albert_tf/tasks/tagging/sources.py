"""Folders of tagged words as the splits of a run."""

from albert_tf.errors import UserError
from albert_tf.io.near_misses import did_you_mean
from albert_tf.tasks.source import file_of_role
from albert_tf.tasks.tagging.reading.files import SUFFIXES
from albert_tf.tasks.tagging.reading.files import read_tag_file
from albert_tf.tasks.tagging.reading.sentences import TagSplit


def read_splits(data_dir, roles, reading):
    """The `TagSplit`s of a folder by role.

    Args:
        data_dir: the folder.
        roles: those of "train", "dev" and "test" that are needed.
        reading: a `Reading`.

    Raises:
        UserError: one of `roles` is missing, or as `read_tag_file`.
    """
    # All are looked for before one is read, which may take a while.
    paths = {role: _find(data_dir, role) for role in roles}
    splits = {}
    for role, path in paths.items():
        file = read_tag_file(path, reading, may_lack_tags=role == "test")
        splits[role] = TagSplit(
            str(path),
            is_labelled=file.sentences[0].entities is not None,
            is_training=role == "train",
            tag_file=file,
        )
    return splits


def _find(data_dir, role):
    found = file_of_role(data_dir, role, SUFFIXES)
    if found is None:
        names = [f"{role}{suffix}" for suffix in SUFFIXES]
        meant = did_you_mean(data_dir) or f"; name the folder of the {role} set."
        expected = f"{', '.join(names[:-1])} or {names[-1]}"
        raise UserError(f"--data_dir={data_dir} has no {expected}{meant}")
    return found
