"""The score of a model against the depth and the speed at which its answers come."""

import dataclasses
import os
import pathlib
import statistics
import time
import typing

import numpy as np
import tensorflow as tf

from albert_tf import bundle
from albert_tf.checkpoints.model_directory import HEAD_FILE
from albert_tf.display.plots import write_plot
from albert_tf.errors import UserError
from albert_tf.exit_rule import EXIT_RULES
from albert_tf.exit_rule import ExitRule
from albert_tf.exit_rule import asked_rule
from albert_tf.io.files import read_json_object
from albert_tf.io.files import write_atomically
from albert_tf.io.folder_lock import folder_lock
from albert_tf.io.whole_folder import ChecksummedFolder
from albert_tf.io.whole_folder import writing
from albert_tf.layers.exits import confidence
from albert_tf.row_layout import FEATURES
from albert_tf.tasks.prediction import OutputsPredictor
from albert_tf.tasks.prediction import by_length
from albert_tf.tasks.prediction import early_scores
from albert_tf.tasks.registry import read_task
from albert_tf.tasks.task import Prepared
from albert_tf.tokenization.loading import tokenizer_for_model

_THRESHOLDS = 16  # of a rule whose threshold is no number of layers
_ROUNDS = 3  # of timing, of which the median counts
FULL = "full depth"


class Point(typing.NamedTuple):
    """The score and speed of a model with a threshold.

    Attributes:
        rule: a name of `EXIT_RULES`, or `FULL`.
        threshold: of the rule; None at full depth.
        score: the task's first metric.
        layers: the mean number of layers that an answer takes.
        speed: rows a second, in multiples of those at full depth.
    """

    rule: str
    threshold: float | None
    score: float
    layers: float
    speed: float


def _speeds(model, tokens, batch_size, max_seq_length):
    """Measures how fast a model answers, in multiples of its speed at full depth.

    Returns a function from an `ExitRule` to a function from its threshold to the speed.
    """
    rows, _ = by_length(tokens, batch_size, max_seq_length)
    batches = [{name: row[name] for name in FEATURES} for row in rows]
    spec = tf.TensorSpec([None] * model.feature_axes, tf.int32)
    signature = [dict.fromkeys(FEATURES, spec), tf.TensorSpec([])]

    def timed(function):
        graph = tf.function(function, input_signature=signature, autograph=False)

        def seconds(threshold):
            threshold, found = tf.constant(threshold, tf.float32), []
            for _ in range(_ROUNDS + 1):
                start = time.perf_counter()
                for batch in batches:
                    graph(batch, threshold)
                found.append(time.perf_counter() - start)
            return statistics.median(found[1:])  # the first one makes the graph

        return seconds

    full = timed(lambda features, _: model(features, training=False))(0.0)

    def of_rule(rule):
        early = timed(lambda batch, value: model.leave_early(batch, rule, value))
        return lambda threshold: full / early(threshold)

    return of_rule


def _exit_curve(task, model, prepared, batch_size, max_seq_length, timed_rows):
    """Scores and times a model at all thresholds of the rules that fit it.

    Returns a list of `Point`, the first one at full depth.
    """
    outputs = OutputsPredictor(model, batch_size, max_seq_length, task.min_tokens)
    found = outputs(prepared.tokens)  # [N, layers, outputs]
    metric, depth = task.metrics[0], found.shape[1]
    timed = np.linspace(0, len(found) - 1, min(timed_rows, len(found))).astype(int)
    of_rule = _speeds(model, prepared.tokens.take(timed), batch_size, max_seq_length)
    score = task.score(prepared, task.interpret(prepared, found[:, -1]))[metric]
    points = [Point(FULL, None, score, depth, 1.0)]
    kind, tolerance = model.exit_kind, 0.1
    if model.exit_rule is not None:
        tolerance = model.exit_rule.tolerance
    for name in EXIT_RULES:
        if name != "patience" and kind == "regression":
            continue
        speed_at = of_rule(ExitRule(name, tolerance=tolerance))
        for threshold in _thresholds(name, found, kind):
            rule = ExitRule(name, threshold, tolerance)
            scores = early_scores(task, prepared, found, rule, kind)
            own, layers = scores[f"exit_{metric}"], scores["exit_layer"]
            points.append(Point(name, threshold, own, layers, speed_at(threshold)))
    return points


def _thresholds(name, outputs, kind):
    """Lists a rule's thresholds, from the most permissive to the strictest."""
    if name == "patience":
        return list(range(1, outputs.shape[1]))
    values = confidence(outputs[:, :-1].reshape(-1, outputs.shape[-1]), name, kind)
    shares = np.quantile(values, np.linspace(0.02, 0.98, _THRESHOLDS)).astype(float)
    rule = EXIT_RULES[name]
    found = [float(share) for share in np.unique(shares) if 0 < share < rule.limit]
    return found if rule.leaves_above else found[::-1]


def write_curve(points, metric, output_dir):
    """Writes `early_exit.tsv` and `early_exit.png`, and returns the table's text."""
    lines = [f"rule\tthreshold\t{metric}\tlayers\tspeed"]
    for point in points:
        threshold = "" if point.threshold is None else f"{point.threshold:.4g}"
        lines.append(
            f"{point.rule}\t{threshold}\t{point.score:.4f}\t{point.layers:.2f}"
            f"\t{point.speed:.2f}"
        )
    table = "\n".join(lines) + "\n"
    write_atomically(os.path.join(output_dir, "early_exit.tsv"), table)
    full, *others = points

    def draw(figure, names):
        axes = figure.subplots(1, 2, sharey=True)
        labels = ("mean number of layers", "speed, in multiples of full depth")
        for axis, field, label in zip(axes, ("layers", "speed"), labels, strict=True):
            for rule in dict.fromkeys(point.rule for point in others):
                own = [point for point in others if point.rule == rule]
                x = [getattr(point, field) for point in own]
                axis.plot(x, [point.score for point in own], marker=".", label=rule)
            axis.axhline(full.score, color="#555555", linestyle=":", label=FULL)
            axis.set(xlabel=label)
        axes[0].set(ylabel=metric)
        axes[0].legend()

    write_plot(os.path.join(output_dir, "early_exit.png"), draw, (9.6, 4.0))
    return table


def draw_and_keep(options):
    """Writes the curve, and the rule to keep; see `tools.early_exit.early_exit`."""
    opened = bundle.open(options.model_dir)
    model = opened.model()
    if getattr(model, "exit_heads", None) is None:
        raise UserError(
            f"{opened.path} has no exit heads, so that nothing leaves early; fine-tune "
            "it with --early_exit."
        )
    if options.keep_rule:
        rule = asked_rule(model.exit_rule, options.asked_rule)
        if rule is not None:
            rule.check_fits(model.exit_kind, model.config.num_hidden_layers)
    if options.eval_file is not None:
        _write_curve(options, opened, model)
    if options.keep_rule:
        _keep(opened.path, rule)


def _write_curve(options, opened, model):
    task = read_task(opened)
    if task is None:
        raise UserError(
            f"{opened.path} does not say what its outputs mean; fine-tune it with "
            "labels."
        )
    examples = task.read(options.eval_file, options.columns)
    tokenizer = tokenizer_for_model(opened.tokenizer(), model.config, opened.path)
    length = opened.info.get("max_seq_length", model.config.max_position_embeddings)
    tokens = task.tokenize(examples, tokenizer, length)
    tokens = dataclasses.replace(tokens, labels=task.targets(examples, tokens))
    prepared = Prepared(examples, tokens)
    points = _exit_curve(
        task, model, prepared, options.batch_size, length, options.timed_rows
    )
    with folder_lock(options.output_dir):
        print(write_curve(points, task.metrics[0], options.output_dir), end="")


def _keep(directory, rule):
    """Writes a rule, or that there is none, into a model directory."""
    with writing(directory):
        head = read_json_object(pathlib.Path(directory) / HEAD_FILE)
        head.pop("exit_rule", None)
        if rule is not None:
            head["exit_rule"] = dataclasses.asdict(rule)
        with ChecksummedFolder(directory) as folder:
            folder.write_json(HEAD_FILE, head)
