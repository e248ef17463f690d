"""Implements `albert-tf tag`."""

import dataclasses

from albert_tf.cli.command_line import group_of
from albert_tf.errors import UserError
from albert_tf.tasks.commands.run import check_steps
from albert_tf.tasks.commands.run import run_task
from albert_tf.tasks.examples import files_by_role
from albert_tf.tasks.tagging.schemes import IOB2
from albert_tf.tasks.tagging.schemes import PLAIN
from albert_tf.tasks.tagging.schemes import all_tags
from albert_tf.tasks.tagging.sentences import SUFFIXES
from albert_tf.tasks.tagging.sentences import TagFileFlags
from albert_tf.tasks.tagging.sentences import read_tag_file
from albert_tf.tasks.tagging.task import Tagging


def train_and_apply(options):
    """Runs the command once; see `TaskOptions.command`."""
    tuned = options.tuned(task_class=Tagging)
    task, examples = _read_folder(options, tuned and _as_asked(options, *tuned))
    applies = options.do_eval, options.do_predict
    return run_task(options, task, examples, *applies, tuned)


def check_flags(options):
    """Checks the flags; see `TaskOptions.command`."""
    check_steps(options, reads_folder=True)


def _read_folder(options, tuned):
    """Reads the task of the flags, and the folder's `TagFile`s by role."""
    flags, skips = group_of(TagFileFlags, options), options.skip_bad_rows
    if tuned and tuned.scheme == PLAIN:
        flags = dataclasses.replace(flags, scheme=PLAIN)
    data_dir, roles = options.data_dir, options.needed_roles
    paths = files_by_role(data_dir, SUFFIXES, roles)
    examples = {r: read_tag_file(paths[r], flags, r, skips) for r in roles}
    task = tuned or _learned(options, examples["train"])
    for file in examples.values():
        task.warn_of_unlearnable(file)
    return task, examples


def _as_asked(options, opened, tuned):
    """Returns the task of a fine-tuned model, with the settings of the flags."""
    if options.scheme and (options.scheme == PLAIN) != (tuned.scheme == PLAIN):
        raise UserError(
            f"--scheme={options.scheme} does not fit {opened.path}, whose tags are "
            f"{tuned.scheme}; leave the flag out, or name another model."
        )
    decoder = options.decoder or tuned.decoder
    if options.export_dir and decoder != tuned.decoder:
        raise UserError(
            f"--decoder={decoder} is not that of {opened.path}, which is exported with "
            f"{tuned.decoder}; leave out --decoder or --export_dir."
        )
    return dataclasses.replace(tuned, decoder=decoder, **_of_rows(options))


def _of_rows(options):
    return {name: getattr(options, name) for name in ("doc_stride", "dropout_prob")}


def _learned(options, file):
    """Makes the task for a training `TagFile`."""
    labels = file.types()
    if not labels:
        raise UserError(
            f"{file.path} has no entity, so there is nothing to learn; name the column "
            "of its tags with --tag_column."
        )
    scheme = file.scheme or options.scheme or IOB2
    return Tagging(
        name="custom",
        labels=all_tags(labels, scheme),
        scheme=scheme,
        decoder=options.decoder,
        **_of_rows(options),
    )
