"""The command of a task: checks its flags, and runs it with one or several seeds.

A run opens the initial model, reads the examples, trains, evaluates, predicts and
exports.
"""

import contextlib
import dataclasses
import math
import os
import pathlib
import statistics

import keras
from absl import logging

from albert_tf.cli.command_line import group_of
from albert_tf.engine.compilation import with_precision
from albert_tf.engine.flags import DeviceFlags
from albert_tf.engine.reporting.summaries import read_eval_results
from albert_tf.engine.reporting.summaries import read_history
from albert_tf.engine.reporting.summaries import write_eval_results
from albert_tf.engine.strategies import strategy_from
from albert_tf.errors import UserError
from albert_tf.hub.names import is_download
from albert_tf.hub.names import with_local_models
from albert_tf.io.files import write_json
from albert_tf.io.folder_lock import folder_lock
from albert_tf.io.storage import require_disk
from albert_tf.tasks.examples import of_role
from albert_tf.tasks.loading import MODEL_DIR
from albert_tf.tasks.loading import fine_tuned
from albert_tf.tasks.loading import load_fine_tuned
from albert_tf.tasks.prediction import OutputsPredictor
from albert_tf.tasks.prediction import depths
from albert_tf.tasks.prediction import require_numbers
from albert_tf.tasks.training import FineTuning
from albert_tf.tasks.training import prepare
from albert_tf.tasks.training import run_identity

_RESULTS = "eval_results.txt"
# The official scripts' names for the metrics of the first dev set.
_OFFICIAL_NAMES = {"accuracy": "eval_accuracy", "loss": "eval_loss"}
_DOWNLOADS = ("data_dir", "data_file", "init_checkpoint")
_PLACES = (*_DOWNLOADS, "output_dir", "cached_dir", "export_dir")
_SEEDS = 2**32  # the number of values of --random_seed


def check_steps(options, reads_folder=False):
    """Refuses flags that request no step, or a bucket where a folder is required.

    Args:
        options: `TaskOptions`.
        reads_folder: whether the examples are in --data_dir.
    """
    for flag in _PLACES:
        place = getattr(options, flag, None)
        if flag not in _DOWNLOADS or not is_download(place):
            require_disk(flag, place)
    if not (options.reads_examples or options.export_dir):
        raise UserError(
            "Nothing to do: give --do_train, --do_eval, --do_predict or --export_dir."
        )
    if reads_folder and options.reads_examples and not options.data_dir:
        raise UserError("--data_dir is needed to train, evaluate or predict.")


def run_repeatedly(options):
    """Runs the command `--num_runs` times; the paper reports a median of 5 runs.

    Run i has the seed `random_seed + i` and writes to `run_<i>` in the output
    directory. In the output directory, eval_results.txt has the median, minimum and
    maximum of each value (NaN if a run has NaN), and runs.json has all values.

    Returns:
        The values of eval_results.txt; {} without evaluation, and in workers that leave
        evaluation to the chief.

    Raises:
        UserError: flags, files or checkpoints do not fit.
    """
    options.command.check_flags(options)
    options = with_precision(options).completed()
    if options.num_runs == 1:
        return _run_once(options)
    if not (options.do_train and options.do_eval):
        raise UserError("--num_runs needs --do_train and --do_eval.")
    if options.export_dir:
        raise one_model_only("--export_dir", options)
    output_dir = pathlib.Path(options.output_dir)
    runs = []
    for i in range(options.num_runs):
        logging.info("Run %d of %d", i + 1, options.num_runs)
        one = dataclasses.replace(
            options,
            num_runs=1,
            random_seed=(options.random_seed + i) % _SEEDS,
            output_dir=str(output_dir / f"run_{i}"),
            cached_dir=options.cache_dir,
        )
        runs.append({"random_seed": one.random_seed, **_run_once(one)})
        keras.backend.clear_session()
    if runs[0].keys() == {"random_seed"}:
        return {}  # The chief has the results.
    values = {"num_runs": options.num_runs}
    for name in runs[0].keys() - {"random_seed"}:
        for key, value in _spread([run[name] for run in runs]).items():
            values[f"{name}_{key}"] = value
    with folder_lock(output_dir):
        write_json(output_dir / "runs.json", runs)
        write_eval_results(str(output_dir / _RESULTS), values)
    for name, value in sorted(values.items()):
        if name.endswith("_median"):
            logging.info("%s = %s", name, value)
    return values


def _spread(values):
    """Computes median, minimum and maximum; all are NaN if any value is NaN."""
    if any(map(math.isnan, values)):
        return dict.fromkeys(("median", "min", "max"), math.nan)
    return {
        "median": statistics.median(values),
        "min": min(values),
        "max": max(values),
    }


def one_model_only(flags, options):
    """Makes the `UserError` for flags that need a single model."""
    return UserError(
        f"{flags} need one model, not --num_runs={options.num_runs}; give them in a "
        "second command, with --output_dir naming the folder of one run, such as "
        f"{options.output_dir}/run_0."
    )


def _run_once(options):
    values, options = {}, with_local_models(options)
    if options.reads_examples:
        lock = contextlib.nullcontext()
        # Before a model is looked for: another run may be about to replace it. Training
        # locks the folder itself, in one of its workers.
        if os.path.isdir(options.output_dir) and not options.do_train:
            lock = folder_lock(options.output_dir)
        with lock:
            values = options.command.train_and_apply(options)
        if values is None:
            return {}
    if options.export_dir:
        # Imported here so that training starts seconds sooner.
        from albert_tf.serving.export import ExportOptions
        from albert_tf.serving.export import export

        opened, _ = fine_tuned(options.output_dir, options.opened)
        export(ExportOptions(model_dir=opened.path, export_dir=options.export_dir))
    return values


def run_task(
    options, task, examples, evaluates, predicts, tuned=None, finish=lambda: None
):
    """Trains, evaluates and predicts, as the options ask.

    Args:
        options: `TaskOptions` whose models and vocabularies are local.
        task: the `Task`.
        examples: all `Examples` that the steps need, by name; they are read up front,
            so that a bad file does not waste a training.
        evaluates: whether to score the dev sets and the labelled test sets.
        predicts: whether to predict the test sets.
        tuned: the result of `fine_tuned`, if it is known and nothing is trained.
        finish: called after training, before the model is applied.

    Returns:
        The values of eval_results.txt; {} without evaluation. None in workers that
        leave evaluation to the chief.

    Raises:
        UserError: flags, files or checkpoints do not fit.
    """
    task = options.applied_to(task)
    _check(task, examples, options.do_train, evaluates, predicts)
    _check_best_metric(options, task)
    if options.do_train:
        identity = run_identity(options, examples)
        # Before any use of TensorFlow, since workers must be connected first.
        strategy = strategy_from(group_of(DeviceFlags, options))
        tuning = FineTuning(task, options.start, options.training)
        if not tuning.run(examples, strategy, identity):
            return None
        finish()
    if not (evaluates or predicts):
        return {}
    values, output_dir = {}, pathlib.Path(options.output_dir)
    with folder_lock(output_dir):
        apply = Applied(options, task, tuned)
        if evaluates:
            values = _evaluate(output_dir, examples, apply)
        if predicts:
            _predict(output_dir, examples, apply)
    return values


def _check(task, examples, trains, evaluates, predicts):
    """Refuses a step without examples."""
    if trains and not of_role(examples, "train"):
        raise UserError(
            f"The task {task.name} has no training set; fine-tune on MNLI and predict "
            "it with --init_checkpoint=<that run>/model."
        )
    if evaluates and not _labelled(examples):
        raise UserError(
            f"The task {task.name} has no table with labels for --do_eval; for the "
            "task ax it is diagnostic-full.tsv."
        )
    if predicts and not of_role(examples, "test"):
        raise UserError(
            f"The task {task.name} has no test table to predict; add it to --data_dir, "
            "or leave out --do_predict."
        )


def _check_best_metric(options, task):
    """Refuses a --best_metric that the task does not score."""
    known = dict.fromkeys((*task.metrics, *task.also_scored))
    if options.do_train and options.best_metric not in (None, *known):
        raise UserError(
            f"--best_metric={options.best_metric}: expected a score of the task "
            f"{task.name}: {', '.join(known)}."
        )


def _labelled(examples):
    """Lists the names of the examples to score: all dev sets and labelled test sets."""
    scored = {**of_role(examples, "dev"), **of_role(examples, "test")}
    return [name for name, own in scored.items() if own.is_labelled]


class Applied:
    """A fine-tuned model that is applied to the files of a command.

    Args:
        options: `TaskOptions`.
        asked: the `Task` of the files, whose flags control the answers.
        tuned: the result of `fine_tuned`, if it is known.

    Attributes:
        opened: the model's `Bundle`.
        task: the `Task` of the files, as the model answers it.
        model, tokenizer: what `load_fine_tuned` returns.

    Call: a name and its `Examples`. Returns the `Prepared` examples, the result of
    `Task.interpret`, and the scores of early exits.
    """

    def __init__(self, options, asked, tuned):
        opened, task = tuned or fine_tuned(options.output_dir, options.opened, asked)
        task.check_fits(opened.path, asked)
        # Without training info, the flags complete the task.
        task = task if opened.facts else asked
        model, tokenizer = load_fine_tuned(
            opened, task, options.vocabulary, options.do_lower_case
        )
        # A model saved from Python may not record the length that it was trained with.
        longest = model.config.longest_row(options.max_seq_length)
        length = opened.info.get("max_seq_length", longest)
        settings = {"max_seq_length": (length, options.max_seq_length)}
        for name in task.row_settings:
            settings[name] = getattr(task, name), getattr(asked, name)
        if different := [
            f"{name}={value} (not {wanted})"
            for name, (value, wanted) in settings.items()
            if value != wanted
        ]:
            what = ", ".join(different)
            logging.info("%s is applied with its own %s.", opened.path, what)
        self.opened, self._options = opened, options
        self._own, self.task = task, asked.as_applied(task)
        self.model, self.tokenizer, self._length = model, tokenizer, length

    def __call__(self, name, examples):
        task, options, length = self._own, self._options, self._length
        batch_size = options.eval_batch_size
        if examples.role == "test":
            batch_size = options.predict_batch_size
        prepared = prepare(
            task, name, examples, self.tokenizer, length, options.cache_dir
        )
        predict = OutputsPredictor(self.model, batch_size, length, task.min_tokens)
        outputs = require_numbers(predict(prepared.tokens))
        full, early = depths(self.task, prepared, outputs, self.model)
        return prepared, self.task.interpret(prepared, full), early


def _evaluate(output_dir, examples, apply):
    """Scores the dev sets and the labelled test sets, and writes eval_results.txt.

    Metrics of sets other than the first dev set have the set's name as prefix. The file
    keeps the dev scores that an earlier command computed for the same model.
    """
    task = apply.task
    values, kept = _last_scores(output_dir, task), {}
    step, path = apply.opened.facts.get("step"), apply.opened.path
    official = next(iter(of_role(examples, "dev")), None)
    if step is not None:
        values["global_step"] = step
        if official is None and pathlib.Path(path) == output_dir / MODEL_DIR:
            earlier = read_eval_results(str(output_dir / _RESULTS))
            kept = earlier if earlier.get("global_step") == str(step) else {}
    for name in _labelled(examples):
        prepared, interpreted, early = apply(name, examples[name])
        scores = {**task.score(prepared, interpreted), **early}
        for metric, value in scores.items():
            named = _OFFICIAL_NAMES.get(metric, metric)
            values[named if name == official else f"{name}_{metric}"] = value
        # Written at once, so that a later failure does not lose these scores.
        write_eval_results(str(output_dir / _RESULTS), {**kept, **values})
        task.write_scored(output_dir, name, prepared, interpreted)
    for name, value in sorted(values.items()):
        logging.info("%s = %s", name, value)
    return values


def _last_scores(output_dir, task):
    """Returns the scores of the last checkpoint, to report beside the best one's."""
    entries = read_history(output_dir / "history.json")
    last = entries[-1] if entries else {}
    names = [name for name in (*task.metrics, "step") if name in last]
    return {f"last_{name}": last[name] for name in names}


def _predict(output_dir, examples, apply):
    """Predicts the test sets."""
    for place, (name, own) in enumerate(of_role(examples, "test").items()):
        prefix = f"{name}_" if place else ""
        prepared, interpreted, _ = apply(name, own)
        apply.task.write_predicted(output_dir, prefix, prepared, interpreted)
