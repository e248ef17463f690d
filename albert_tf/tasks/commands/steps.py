"""The steps of a task's command, their checks, and the same with several seeds."""

import contextlib
import dataclasses
import math
import os
import pathlib
import statistics

import keras
from absl import logging

from albert_tf.engine.compilation import with_precision
from albert_tf.engine.reporting.summaries import write_eval_results
from albert_tf.errors import UserError
from albert_tf.hub.names import is_download
from albert_tf.io.files import write_json
from albert_tf.io.folder_lock import folder_lock
from albert_tf.io.storage import require_disk
from albert_tf.tasks.loading import fine_tuned

_DOWNLOADS = ("data_dir", "init_checkpoint")
_PLACES = ("data_dir", "init_checkpoint", "output_dir", "cached_dir", "export_dir")
_SEEDS = 2**32  # how many --random_seed may be


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


def run_repeatedly(options, family):
    """Obeys the flags, `--num_runs` times; the paper reports a median of 5.

    Run i has the seed `random_seed + i` and the folder `run_<i>` in the output
    directory. There, eval_results.txt holds the median, least and greatest of each
    value (NaN where a run has NaN), and runs.json all of them.

    Args:
        options: `TaskOptions`.
        family: the module `run` of a family of tasks. Its `check_flags` raises
            `UserError` for options that cannot be followed, or that would have no
            effect. Its `train_and_apply` takes the options of one run, and the
            `StartFlags` with a model and a vocabulary that lie here, to the result of
            `run_task`; it is called if anything but an export is asked for.

    Returns:
        The values of eval_results.txt; empty if nothing is scored, and in a worker
        that leaves evaluation and files to another.

    Raises:
        UserError: flags, files or checkpoints that do not fit.
    """
    family.check_flags(options)
    options = with_precision(options)
    if options.num_runs == 1:
        return _run_once(options, family)
    _check_flags_of_several_runs(options)
    output_dir = pathlib.Path(options.output_dir)
    runs = []
    for i in range(options.num_runs):
        logging.info("Run %d of %d", i + 1, options.num_runs)
        one = dataclasses.replace(
            options,
            num_runs=1,
            random_seed=(options.random_seed + i) % _SEEDS,
            output_dir=str(output_dir / f"run_{i}"),
            cached_dir=options.cached_dir or str(output_dir / "cache"),
        )
        values = _run_once(one, family)
        runs.append({"random_seed": one.random_seed, **values})
        keras.backend.clear_session()
    if runs[0].keys() == {"random_seed"}:
        return {}  # Another worker has the results.
    values = {"num_runs": options.num_runs}
    for name in runs[0].keys() - {"random_seed"}:
        found = [run[name] for run in runs]
        for key, value in _spread(found).items():
            values[f"{name}_{key}"] = value
    with folder_lock(output_dir):
        write_json(output_dir / "runs.json", runs)
        write_eval_results(str(output_dir / "eval_results.txt"), values)
    for name, value in sorted(values.items()):
        if name.endswith("_median"):
            logging.info("%s = %s", name, value)
    return values


def _run_once(options, family):
    values, start = {}, options.resolved_start()
    if _is_applied(options):
        with _alone(options):
            values = family.train_and_apply(options, start)
        if values is None:
            return {}
    if options.export_dir:
        _export_model(options, start)
    return values


def _alone(options):
    """Keeps other runs out of the folder of one that only applies a model."""
    trains_or_is_first = options.do_train or not os.path.isdir(options.output_dir)
    if trains_or_is_first:  # training locks the folder itself, in one of its workers
        return contextlib.nullcontext()
    return folder_lock(options.output_dir)


def _export_model(options, start):
    # Imported here: training starts seconds sooner without serving.
    from albert_tf.serving.export import ExportOptions
    from albert_tf.serving.export import export

    opened, _ = fine_tuned(options.output_dir, start.opened)
    export(ExportOptions(model_dir=opened.path, export_dir=options.export_dir))


def _check_flags_of_several_runs(options):
    """Refuses flags that do not fit several runs, for nothing picks the best."""
    if not (options.do_train and options.do_eval):
        raise UserError("--num_runs needs --do_train and --do_eval.")
    if options.export_dir:
        raise one_model_only("--export_dir", options)


def one_model_only(flags, options):
    """Makes the `UserError` for flags that need one model where there are several."""
    return UserError(
        f"{flags} need one model, not --num_runs={options.num_runs}; give them in a "
        "second command, with --output_dir naming the folder of one run, such as "
        f"{options.output_dir}/run_0."
    )


def _spread(values):
    """Computes median, least, greatest; all NaN if a value is, for NaN has no order."""
    if any(map(math.isnan, values)):
        return dict.fromkeys(("median", "min", "max"), math.nan)
    return {
        "median": statistics.median(values),
        "min": min(values),
        "max": max(values),
    }
