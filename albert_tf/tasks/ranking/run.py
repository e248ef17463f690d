"""Implements `albert-tf rank`."""

from albert_tf.io.table_rows import SUFFIXES
from albert_tf.tasks.commands.run import check_steps
from albert_tf.tasks.commands.run import run_task
from albert_tf.tasks.examples import files_by_role
from albert_tf.tasks.ranking.lists import check_graded
from albert_tf.tasks.ranking.lists import read_lists
from albert_tf.tasks.ranking.task import Ranking


def train_and_apply(options):
    """Runs the command once; see `TaskOptions.command`."""
    roles = options.needed_roles
    paths = files_by_role(options.data_dir, SUFFIXES, roles, SUFFIXES[:3])
    examples = {role: read_lists(paths[role], role, options) for role in roles}
    for role, own in examples.items():
        if own.is_labelled and (role != "test" or options.do_eval):
            check_graded(own)
    task = Ranking(name=options.task_name, loss=options.loss)
    return run_task(options, task, examples, options.do_eval, options.do_predict)


def check_flags(options):
    """Checks the flags; see `TaskOptions.command`."""
    check_steps(options, reads_folder=True)
