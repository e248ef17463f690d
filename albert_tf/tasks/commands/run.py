"""The run of a task's command: train, evaluate, predict."""

import dataclasses
import pathlib

from absl import logging

from albert_tf.cli.command_line import group_of
from albert_tf.engine.flags import DeviceFlags
from albert_tf.engine.reporting.summaries import read_eval_results
from albert_tf.engine.reporting.summaries import read_history
from albert_tf.engine.reporting.summaries import write_eval_results
from albert_tf.engine.strategies import strategy_from
from albert_tf.errors import UserError
from albert_tf.hub.names import with_local_models
from albert_tf.io.folder_lock import folder_lock
from albert_tf.models.flags import EarlyExitFlags
from albert_tf.tasks.commands.flags import ApplyingFlags
from albert_tf.tasks.commands.flags import TrainingFlags
from albert_tf.tasks.examples import of_role
from albert_tf.tasks.loading import MODEL_DIR
from albert_tf.tasks.loading import fine_tuned
from albert_tf.tasks.loading import load_fine_tuned
from albert_tf.tasks.prediction import OutputsPredictor
from albert_tf.tasks.prediction import depths
from albert_tf.tasks.prediction import require_numbers
from albert_tf.tasks.training import fine_tune
from albert_tf.tasks.training import prepare
from albert_tf.tasks.training import run_facts

_RESULTS = "eval_results.txt"
# Names under which the official scripts report the first dev set.
_OFFICIAL_NAMES = {"accuracy": "eval_accuracy", "loss": "eval_loss"}


def run_task(options, start, task, examples, predict_splits, tuned=None):
    """Trains, evaluates and predicts as `TaskOptions` say.

    Args:
        options: `TaskOptions`.
        start: their `StartFlags`, whose model and vocabulary lie here.
        task: the `Task`.
        examples: the `Examples` of all that is to be done, by name; all are read before
            anything is done, for a bad file must not cost a training.
        predict_splits: whether examples of the role "test" are to be predicted.
        tuned: the result of `fine_tuned`, if nothing is trained and it is known.

    Returns:
        The values of eval_results.txt; empty without --do_eval. None in a worker that
        leaves evaluation and files to another.

    Raises:
        UserError: flags, files or checkpoints that do not fit.
    """
    _check(task, examples, options.do_train, options.do_eval, predict_splits)
    if options.do_train:
        facts = run_facts(options, examples)
        # Before TensorFlow runs anything: workers must be connected first.
        strategy = strategy_from(group_of(DeviceFlags, options))
        training = with_local_models(group_of(TrainingFlags, options))
        if not fine_tune(task, examples, start, training, strategy, facts):
            return None
    if not (options.do_eval or predict_splits):
        return {}
    with folder_lock(options.output_dir):
        return _apply(options, start, task, examples, predict_splits, tuned)


def _apply(options, start, task, examples, predict_splits, tuned):
    """Evaluates and predicts; returns the values of eval_results.txt."""
    applying = group_of(ApplyingFlags, options)
    apply, opened = _applier(start, applying, task, examples, tuned)
    info, output_dir, values = opened.facts, pathlib.Path(options.output_dir), {}
    if options.do_eval:
        is_own = pathlib.Path(opened.path) == output_dir / MODEL_DIR
        is_only_test = is_own and not of_role(examples, "dev")
        kept = _scores_on_dev(output_dir, info) if is_only_test else {}
        values = _evaluate(output_dir, task, examples, apply, info, kept)
    if predict_splits:
        _predict(output_dir, task, examples, apply)
    return values


def leaving_early(task, options):
    """Returns the task whose model is trained as the `EarlyExitFlags` say."""
    flags = group_of(EarlyExitFlags, options)
    return dataclasses.replace(task, early_exit=flags) if flags.early_exit else task


def _check(task, examples, train, evaluate, predict):
    """Refuses a step that has no examples."""
    if train and not of_role(examples, "train"):
        raise UserError(
            f"The task {task.name} has no training set; fine-tune on MNLI and predict "
            "it with --init_checkpoint=<that run>/model."
        )
    if evaluate and not _labelled(examples):
        raise UserError(
            f"The task {task.name} has no table with labels for --do_eval; for the "
            "task ax it is diagnostic-full.tsv."
        )
    if predict and not of_role(examples, "test"):
        raise UserError(
            f"The task {task.name} has no test table to predict; add it to --data_dir, "
            "or leave out --do_predict."
        )


def _labelled(examples):
    """Lists names of the examples to score: all of dev, labelled ones of test."""
    scored = {**of_role(examples, "dev"), **of_role(examples, "test")}
    return [name for name, own in scored.items() if own.is_labelled]


def _applier(start, applying, asked, examples, tuned):
    """Returns a function from the name of examples to the model's results on them.

    Returns:
        The function, which returns `Prepared` examples, their outputs by
        `Task.interpret`, and the scores of early answers; and the `Bundle` of the
        model.
    """
    opened, task = tuned or fine_tuned(applying.output_dir, start.opened, asked)
    task.check_fits(opened.path, asked)
    # Without training info, the flags say what the model does not.
    task = task if opened.facts else asked
    model, tokenizer = load_fine_tuned(
        opened, task, start.vocabulary, start.do_lower_case
    )
    # A model that was saved by hand need not say at which length it was trained.
    longest = model.config.longest_row(start.max_seq_length)
    length = opened.facts.get("max_seq_length", longest)
    _tell_differences(
        opened.path,
        {"max_seq_length": length, **_row_settings(task)},
        {"max_seq_length": start.max_seq_length, **_row_settings(asked)},
    )

    def apply(name):
        batch_size = applying.eval_batch_size
        if examples[name].role == "test":
            batch_size = applying.predict_batch_size
        prepared = prepare(
            task, name, examples[name], tokenizer, length, applying.cache_dir
        )
        predict = OutputsPredictor(model, batch_size, length, task.min_tokens)
        # The task of the files: its flags say how to answer.
        outputs = require_numbers(predict(prepared.tokens))
        full, early = depths(asked, prepared, outputs, model)
        return prepared, asked.interpret(prepared, full), early

    return apply, opened


def _row_settings(task):
    return {name: getattr(task, name) for name in task.row_settings}


def _tell_differences(directory, applied, asked):
    """Logs flags that do not count, since the model decides their values."""
    different = [
        f"{name}={value} (not {asked[name]})"
        for name, value in applied.items()
        if value != asked[name]
    ]
    if different:
        what = ", ".join(different)
        logging.info("%s is applied with its own %s.", directory, what)


def _evaluate(output_dir, task, examples, apply, info, kept):
    """Scores the dev sets and the labelled test sets; writes the scores, and `kept`.

    A metric of the first dev set has its own name, a metric of another set the set's
    name before it.
    """
    values = _last_scores(output_dir, task)
    if "step" in info:
        values["global_step"] = info["step"]
    official = next(iter(of_role(examples, "dev")), None)
    for name in _labelled(examples):
        first = name == official
        prepared, interpreted, early = apply(name)
        scores = {**task.score(prepared, interpreted), **early}
        for metric, value in scores.items():
            named = _OFFICIAL_NAMES.get(metric, metric)
            values[named if first else f"{name}_{metric}"] = value
        # At once, so that no later failure loses these scores.
        write_eval_results(str(output_dir / _RESULTS), {**kept, **values})
        task.write_scored(output_dir, name, prepared, interpreted)
    for name, value in sorted(values.items()):
        logging.info("%s = %s", name, value)
    return values


def _scores_on_dev(output_dir, info):
    """Reads an earlier command's scores of a run's model."""
    earlier = read_eval_results(str(output_dir / _RESULTS))
    same = "step" in info and earlier.get("global_step") == str(info["step"])
    return earlier if same else {}


def _last_scores(output_dir, task):
    """Returns the last checkpoint's scores, beside the best one's."""
    entries = read_history(output_dir / "history.json")
    last = entries[-1] if entries else {}
    names = [name for name in (*task.metrics, "step") if name in last]
    return {f"last_{name}": last[name] for name in names}


def _predict(output_dir, task, examples, apply):
    """Predicts the test sets."""
    for place, (name, own) in enumerate(of_role(examples, "test").items()):
        prefix = f"{name}_" if place else ""
        prepared, interpreted, _ = apply(name)
        task.write_predicted(output_dir, prefix, prepared, interpreted, own.submission)
