"""The steps of a task's command, and the checks before the first."""

from albert_tf.errors import UserError
from albert_tf.hub.names import is_download
from albert_tf.io.storage import require_disk
from albert_tf.tasks.loading import fine_tuned

_DOWNLOADS = ("data_dir", "init_checkpoint")
_PLACES = ("data_dir", "init_checkpoint", "output_dir", "cached_dir", "export_dir")


def run_steps(options, train_and_apply):
    """Obeys the flags once.

    Args:
        options: `TaskOptions`.
        train_and_apply: from the options, and the `StartFlags` with a model and a
            vocabulary that lie here, to the result of `run_task`; called if anything
            but an export is asked for.

    Returns:
        The values of eval_results.txt; empty if nothing is scored, and in a worker
        that leaves evaluation and files to another.

    Raises:
        UserError: flags, files or checkpoints that do not fit.
    """
    values, start = {}, options.resolved_start()
    if _is_applied(options):
        values = train_and_apply(options, start)
        if values is None:
            return {}
    if options.export_dir:
        _export_model(options, start)
    return values


def check_steps(options, reads_folder=False):
    """Refuses flags that ask for nothing, or that name a bucket in place of a folder.

    Args:
        options: `TaskOptions`.
        reads_folder: whether a file to apply a model to lies in --data_dir.

    Returns:
        Whether a model is to be trained, scored or applied to a file.

    Raises:
        UserError: it names the flags.
    """
    for flag in _PLACES:
        place = getattr(options, flag, None)
        if flag not in _DOWNLOADS or not is_download(place):
            require_disk(flag, place)
    applies = _is_applied(options)
    if not (applies or options.export_dir):
        raise UserError(
            "Nothing to do: give --do_train, --do_eval, --do_predict or --export_dir."
        )
    if reads_folder and applies and not options.data_dir:
        raise UserError("--data_dir is needed to train, evaluate or predict.")
    return applies


def needed_roles(options):
    """Lists the roles that are read, of "train", "dev" and "test".

    The dev set picks the best checkpoint in training.
    """
    needed = {
        "train": options.do_train,
        "dev": options.do_train or options.do_eval,
        "test": options.do_predict,
    }
    return [role for role, is_needed in needed.items() if is_needed]


def _is_applied(options):
    return options.do_train or options.do_eval or options.do_predict


def _export_model(options, start):
    # Imported here: training starts seconds sooner without serving.
    from albert_tf.serving.export import ExportOptions
    from albert_tf.serving.export import export

    directory, _, _ = fine_tuned(options.output_dir, start.init_checkpoint)
    export(ExportOptions(model_dir=str(directory), export_dir=options.export_dir))
