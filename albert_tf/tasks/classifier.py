"""What run_classifier.py does: train, evaluate, predict, export."""

import json
import pathlib

from absl import logging

from albert_tf.errors import UserError
from albert_tf.hub.names import with_local_directories
from albert_tf.models.sequence_classification import AlbertForSequenceClassification
from albert_tf.tasks import results
from albert_tf.tasks.classifier_setup import fine_tuned
from albert_tf.tasks.classifier_setup import source_from
from albert_tf.tasks.classifier_training import tokenized
from albert_tf.tasks.classifier_training import train
from albert_tf.tasks.confusion_plot import write_confusion_plot
from albert_tf.tasks.flag_checks import asks_raw_text
from albert_tf.tasks.flag_checks import check_flags
from albert_tf.tasks.prediction import LogitsPredictor
from albert_tf.tasks.raw_input import read_raw_texts
from albert_tf.tasks.text_task import REGRESSION
from albert_tf.tasks.text_task import SINGLE_LABEL
from albert_tf.tokenization import load_tokenizer
from albert_tf.training.summaries import write_eval_results

# Names under which the official scripts report the first dev set.
_OFFICIAL_NAMES = {"accuracy": "eval_accuracy", "loss": "eval_loss"}


def run_classifier(options):
    """Does what the flags ask for; see `ClassifierOptions`.

    Returns:
        The values of eval_results.txt; empty without --do_eval, and in a worker that
        leaves evaluation and files to another.

    Raises:
        UserError: flags, files or checkpoints that do not fit.
    """
    options = with_local_directories(options, "init_checkpoint")
    check_flags(options)
    raw_text = asks_raw_text(options)
    predict_file = options.do_predict and not raw_text
    raw_texts = None
    if options.do_train or options.do_eval or predict_file:
        source = source_from(options)
        tables = _tables(options, source, predict_file)
        if raw_text:
            raw_texts = read_raw_texts(options, source.task)
    if options.do_train and not train(options, source, tables):
        return {}
    values = {}
    if options.do_eval or predict_file:
        apply_logits = _applier(options, source)
        if options.do_eval:
            values = _evaluate(options, source, tables, apply_logits)
        if predict_file:
            _predict(options, source, tables, apply_logits)
    if options.do_predict and raw_text:
        # Imported here and below: training starts seconds sooner without serving.
        from albert_tf.tasks.raw_text import predict_raw_text

        predict_raw_text(options, raw_texts)
    if options.export_dir:
        from albert_tf.serving.export import ExportOptions
        from albert_tf.serving.export import export

        directory, _, _ = fine_tuned(options)
        export(ExportOptions(model_dir=str(directory), export_dir=options.export_dir))
    return values


def _tables(options, source, predict_file):
    """Every `Table` that the run needs, by name; a bad one must not cost a training."""
    splits = {}
    if options.do_train:
        if source.train is None:
            raise UserError(
                f"The task {source.task.name} has no training set; fine-tune on MNLI "
                "and predict it with --init_checkpoint=<that run>/model."
            )
        splits = {"train": source.train, **source.dev}
    if options.do_eval:
        labelled = _labelled(source)
        if not labelled:
            raise UserError(
                f"--data_dir={options.data_dir} has no table with labels for "
                "--do_eval; for the task ax it is diagnostic-full.tsv."
            )
        splits |= labelled
    if predict_file:
        if not source.test:
            raise UserError(
                f"--data_dir={options.data_dir} has no test table to predict; add it, "
                "or leave out --do_predict."
            )
        splits |= source.test
    return {name: source.read(split) for name, split in splits.items()}


def _labelled(source):
    """The splits to score by name: all of dev, and what has labels of test."""
    splits = {**source.dev, **source.test}
    return {k: split for k, split in splits.items() if split.columns.label is not None}


def _applier(options, source):
    """A function from (split name, table) to the fine-tuned model's logits."""
    directory, task, info = fine_tuned(options)
    _check_fits(directory, task, source.task)
    model = AlbertForSequenceClassification.from_pretrained(directory)
    tokenizer = load_tokenizer(directory)
    # A model that was saved by hand need not say at which length it was trained.
    longest = min(options.max_seq_length, model.config.max_position_embeddings)
    length = info.get("max_seq_length", longest)

    def logits(name, table):
        batch_size = options.eval_batch_size
        if name in source.test:
            batch_size = options.predict_batch_size
        examples = tokenized(options, {name: table}, tokenizer, length)[0]
        return LogitsPredictor(model, batch_size, length)(examples)

    return logits


def _check_fits(directory, task, asked):
    """Refuses to apply the model of one `TextTask` to the tables of another."""
    if (task.kind, task.labels) != (asked.kind, asked.labels):
        raise UserError(
            f"{directory} predicts {task.labels or task.kind}, but the task "
            f"{asked.name} has {asked.labels or asked.kind}."
        )
    if task.pair != asked.pair:
        texts = ("single texts", "pairs of texts")
        raise UserError(
            f"{directory} takes {texts[task.pair]}, but the task {asked.name} has "
            f"{texts[asked.pair]}; name a model of that task or, for a custom table, "
            f"{'give' if task.pair else 'leave out'} --text_pair_column."
        )


def _evaluate(options, source, tables, apply_logits):
    """Scores the dev sets and the labelled test sets; writes what was found."""
    output_dir, task = pathlib.Path(options.output_dir), source.task
    values = _last_scores(options, task)
    info = fine_tuned(options)[2]
    if "step" in info:
        values["global_step"] = info["step"]
    official = next(iter(source.dev or source.test))
    for name in _labelled(source):
        table, first = tables[name], name == official
        logits = apply_logits(name, table)
        for metric, value in results.score(task, table.labels, logits).items():
            named = _OFFICIAL_NAMES.get(metric, metric)
            values[named if first else f"{name}_{metric}"] = value
        # At once, so that no later failure loses these scores.
        write_eval_results(str(output_dir / "eval_results.txt"), values)
        results.write_errors(output_dir / f"{name}_errors.tsv", task, table, logits)
        if task.kind == REGRESSION:
            continue
        path = output_dir / f"{name}_class_scores.json"
        confusion = results.write_class_scores(path, task, table.labels, logits)
        if task.kind == SINGLE_LABEL:
            write_confusion_plot(
                output_dir / f"{name}_confusion.png", task.labels, confusion
            )
    for name, value in sorted(values.items()):
        logging.info("%s = %s", name, value)
    return values


def _last_scores(options, task):
    """Scores of the last checkpoint, beside those of the best that is evaluated."""
    path = pathlib.Path(options.output_dir) / "history.json"
    if not path.exists():
        return {}
    last = json.loads(path.read_text(encoding="utf-8"))[-1]
    names = [name for name in (*task.metrics, "step") if name in last]
    return {f"last_{name}": last[name] for name in names}


def _predict(options, source, tables, apply_logits):
    """Predicts the test sets."""
    output_dir, task = pathlib.Path(options.output_dir), source.task
    for place, (name, split) in enumerate(source.test.items()):
        table = tables[name]
        logits = apply_logits(name, table)
        prefix = f"{name}_" if place else ""
        results.write_test_results(
            output_dir / f"{prefix}test_results.tsv", task, logits
        )
        submission = output_dir / f"{prefix}submit_results.tsv"
        results.write_submission(submission, task, table, logits)
        if split.submission:
            named = output_dir / f"{split.submission}.tsv"
            results.write_submission(named, task, table, logits)
