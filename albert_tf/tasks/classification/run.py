"""Implements `albert-tf classify`."""

import dataclasses
import functools
import math
import pathlib

from absl import logging

from albert_tf.cli.command_line import group_of
from albert_tf.errors import UserError
from albert_tf.io.files import write_atomically
from albert_tf.io.folder_lock import folder_lock
from albert_tf.io.table_rows import OBJECTS
from albert_tf.io.table_rows import suffix_of
from albert_tf.io.text_files import read_lines
from albert_tf.tasks.classification.calibration import calibrate
from albert_tf.tasks.classification.calibration import check_calibrated
from albert_tf.tasks.classification.custom import custom_examples
from albert_tf.tasks.classification.custom import split_examples
from albert_tf.tasks.classification.few_shot import few_shot_arguments
from albert_tf.tasks.classification.few_shot import learn_from_few
from albert_tf.tasks.classification.glue import glue_examples
from albert_tf.tasks.classification.labels import balanced_weights
from albert_tf.tasks.classification.text_task import TextTask
from albert_tf.tasks.commands.run import Applied
from albert_tf.tasks.commands.run import check_steps
from albert_tf.tasks.commands.run import one_model_only
from albert_tf.tasks.commands.run import run_task
from albert_tf.tasks.examples import of_role
from albert_tf.tasks.loading import fine_tuned
from albert_tf.tasks.prediction import DevEvaluator
from albert_tf.tasks.prediction import OutputsPredictor
from albert_tf.tasks.splitting import SplitFlags
from albert_tf.tasks.splitting import check_same_split
from albert_tf.tasks.tables import CUSTOM
from albert_tf.tasks.tables import trimmed
from albert_tf.tasks.training import FineTuning
from albert_tf.tasks.training import prepare


def train_and_apply(options):
    """Runs the command once; see `TaskOptions.command`."""
    asks_raw_text = options.asks_raw_text
    predict_splits = options.do_predict and not asks_raw_text
    values, texts = {}, None
    if options.do_train or options.do_eval or predict_splits:
        is_custom = options.task_name == CUSTOM
        tuned = options.tuned(task_class=TextTask) if is_custom else None
        task, examples = read_tables(options, tuned, predict_splits)
        if tuned is not None:
            check_same_split(tuned[0], examples)
        is_split = options.data_file and options.do_train
        starts = (options.opened, options.teacher_bundle) if is_split else ()
        for opened in filter(None, starts):
            check_same_split(opened, examples, is_start=True)
        if asks_raw_text:
            # Read before training, and only once, since it may be a pipe.
            texts = read_raw_texts(options, task.pair)
        if options.calibrate:
            check_calibrated(None, task)
        if options.class_weight and "train" in examples:
            examples["train"] = _weighted(task, examples["train"])
        finish = functools.partial(_calibrate, options, task, examples)
        if options.do_train and options.few_shot:
            _train_few_shot(options, task, examples)
            finish()
            options, tuned = dataclasses.replace(options, do_train=False), None
        applies = options.do_eval, predict_splits
        values = run_task(options, task, examples, *applies, tuned, finish)
    if asks_raw_text and values is not None:
        _predict_raw_text(options, texts)
    return values


def _weighted(task, table):
    """Returns a training table with `balanced_weights`."""
    weights = balanced_weights(task, table.labels)[table.labels]
    return dataclasses.replace(table, weights=weights)


def _calibrate(options, task, examples):
    """Calibrates a trained model on the first dev set, once, if the options ask."""
    if not options.calibrate:
        return
    with folder_lock(options.output_dir):
        apply = Applied(options, task, None)
        info = apply.opened.info
        if "calibration" in info:
            return
        name, dev = next(iter(of_role(examples, "dev").items()))
        prepared, outputs, _ = apply(name, dev)
        labels = prepared.tokens.labels
        task, facts = calibrate(apply.model, apply.task, labels, outputs)
        info = {**info, "task": task.to_dict(), "calibration": facts}
        if len(of_role(examples, "dev")) == 1:  # whose scores have no prefix
            outputs = task.interpret(prepared, outputs / facts["temperature"])
            info["dev"] = {**info.get("dev", {}), **task.score(prepared, outputs)}
        apply.model.save_pretrained(apply.opened.path, apply.tokenizer, info)
    logging.info(
        "Calibrated on %s: temperature %.3f, expected calibration error %.4f (before: "
        "%.4f).",
        dev.path,
        facts["temperature"],
        facts["calibration_error"],
        facts["calibration_error_before"],
    )


def _train_few_shot(options, task, examples):
    """Trains few-shot, in one go, in place of `FineTuning.run`."""
    length, held_out = options.max_seq_length, of_role(examples, "dev")
    told_by = functools.partial(few_shot_arguments, kind=task.kind)
    model, tokenizer = options.start.model(task, told_by)
    train, *dev = (
        prepare(task, name, examples[name], tokenizer, length, options.cache_dir)
        for name in ("train", *held_out)
    )
    history = learn_from_few(
        model,
        train.tokens,
        max_length=length,
        epochs=math.ceil(options.num_train_epochs or 1),
        batch_size=options.train_batch_size,
        learning_rate=options.learning_rate,
        seed=options.random_seed,
        verbose=0,
    )
    outputs = OutputsPredictor(model, options.eval_batch_size, length)
    scores = DevEvaluator(task, outputs).evaluate(dict(zip(held_out, dev, strict=True)))
    tuning = FineTuning(task, options.start, options.training)
    save_best = tuning.saver(model, tokenizer, train.examples)
    save_best(history.params["steps"] * len(history.epoch), scores)


def check_flags(options):
    """Checks the flags; see `TaskOptions.command`."""
    _check_raw_text(options)
    options.check_early_exit()
    options.check_long_texts()
    check_steps(options)
    options.check_split(options.data_dir)
    _require_tables(options)
    if options.few_shot:
        _check_few_shot(options)
    if options.calibrate and not options.do_train:
        raise UserError(
            "--calibrate completes a training; add --do_train: the same command "
            "calibrates a finished run, too."
        )
    if options.in_windows and (options.early_exit or options.few_shot):
        name = "early_exit" if options.early_exit else "few_shot"
        raise UserError(
            f"--{name} reads texts of one row, not --long_texts=windows; give one of "
            "them."
        )
    if options.calibrate and options.early_exit:
        raise UserError(
            "--calibrate changes the probabilities by which --early_exit lets a text "
            "leave; give one of them."
        )
    kinds = [kind for kind, own in TextTask.kinds.items() if issubclass(own, TextTask)]
    if options.label_kind not in kinds:
        raise UserError(
            f"--label_kind={options.label_kind}: expected one of {', '.join(kinds)}."
        )


def _check_raw_text(options):
    """Refuses raw-text flags that would have no effect."""
    if options.input_text is not None and options.input_file:
        raise UserError(
            "A run predicts --input_text or --input_file, not both; give one of them."
        )
    if options.input_text_pair is not None and options.input_text is None:
        raise UserError(
            "--input_text_pair needs --input_text; in an --input_file a tab stands "
            "between the two texts of a line."
        )
    if options.asks_raw_text and not options.do_predict:
        raise UserError("--input_text and --input_file need --do_predict; add it.")
    if options.asks_raw_text and options.num_runs > 1:
        raise one_model_only("--input_text and --input_file", options)


def _require_tables(options):
    if options.data_file:
        if options.task_name not in (None, CUSTOM):
            raise UserError(
                f"--task_name={options.task_name} reads --data_dir as GLUE publishes "
                "it; leave it out beside --data_file."
            )
        return
    predicts = options.do_predict and not options.asks_raw_text
    is_needed = options.do_train or options.do_eval or predicts
    for name in ("task_name", "data_dir") if is_needed else ():
        if not getattr(options, name):
            instead = ", or --data_file," if name == "data_dir" else ""
            raise UserError(
                f"--{name}{instead} is needed to train, evaluate or predict a file."
            )


def _check_few_shot(options):
    """Refuses flags that `_train_few_shot` does not support."""
    if options.distribution_strategy not in ("auto", "cpu"):
        raise UserError(
            f"--few_shot learns on one device; leave --distribution_strategy="
            f"{options.distribution_strategy} out."
        )
    alone = ("from_scratch", "teacher", "early_exit", "best_metric", "class_weight")
    for name in alone:
        if getattr(options, name):
            raise UserError(
                "--few_shot starts from --init_checkpoint and learns labels alone; "
                f"leave --{name} out."
            )


def read_tables(options, tuned, predict):
    """Reads the task of the flags, and its tables.

    See `custom_examples` and `split_examples`.

    Args:
        options: `ClassifierOptions`.
        tuned: the result of `fine_tuned` for custom tables, if nothing is trained.
        predict: whether to read unlabelled test tables.
    """
    data_dir, skips = options.data_dir, options.skip_bad_rows
    roles = {*options.needed_roles, *(("test",) if options.do_eval else ())}
    if options.task_name != CUSTOM:
        return glue_examples(options.task_name, data_dir, skips, roles, predict)
    kind, required = options.label_kind, ("train", "dev")
    labels = tuple(map(trimmed, options.labels.split(","))) if options.labels else ()
    if not options.do_train:
        required = ("dev",) if options.do_eval else ()
        # The fine-tuned model has the labels that the training table would provide.
        _, task = tuned
        kind, labels = task.kind, labels or task.labels
    if options.data_file:
        split = group_of(SplitFlags, options)
        return split_examples(split, options.columns, kind, labels, skips, roles)
    return custom_examples(
        data_dir, options.columns, kind, labels, skips, roles, required, predict
    )


def read_raw_texts(flags, pair):
    """Reads lists of texts and, for pair tasks, second texts (else None).

    Args:
        flags: `ClassifierOptions`.
        pair: whether the task takes pairs; None if unknown, so that the flags decide.

    Raises:
        UserError: the file is unreadable or empty, or texts do not fit the task.
    """
    if pair is None:
        pair = flags.input_text_pair is not None
    if flags.input_text is not None:
        row = (flags.input_text, flags.input_text_pair)
        rows = [[text for text in row if text is not None]]
    elif suffix_of(flags.input_file) in (".csv", *OBJECTS):
        raise UserError(
            f"--input_file={flags.input_file} is a table, expected a text on each "
            "line; put it into --data_dir as the test table, or write its texts to a "
            ".txt file."
        )
    else:
        lines = read_lines(flags.input_file)
        rows = [line.split("\t") if pair else [line] for line in lines]
    for number, row in enumerate(rows, 1):
        if len(row) != 1 + pair:
            raise UserError(
                f"Text {number} of {flags.input_file or '--input_text'} has "
                f"{len(row)} text(s), but the model takes {1 + pair}."
            )
    if not rows:
        raise UserError(f"--input_file={flags.input_file} is empty.")
    texts, *pairs = zip(*rows, strict=True)
    return list(texts), list(pairs[0]) if pairs else None


def _predict_raw_text(options, texts):
    """Prints and writes one line per text: the prediction, then the text.

    Args:
        options: `ClassifierOptions`.
        texts: the result of `read_raw_texts`; None to read them now.
    """
    # Imported here so that training starts seconds sooner.
    from albert_tf.serving.predictor import Predictor

    opened, task = fine_tuned(options.output_dir, options.opened, task_class=TextTask)
    texts, pairs = texts or read_raw_texts(options, task.pair)
    inputs = [texts] if pairs is None else [texts, pairs]
    answers = Predictor(opened.path)(*inputs, batch_size=options.predict_batch_size)
    lines = [
        "\t".join([*task.answer_columns(answer), *row]) + "\n"
        for answer, *row in zip(answers, *inputs, strict=True)
    ]
    print("".join(lines), end="")
    path = pathlib.Path(options.output_dir) / "predictions.tsv"
    write_atomically(path, "".join(lines))
