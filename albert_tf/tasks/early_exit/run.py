"""The run of `python -m albert_tf.early_exit`."""

import dataclasses
import pathlib

from albert_tf.checkpoints.loading import find_head
from albert_tf.checkpoints.loading import load_pretrained
from albert_tf.checkpoints.model_directory import HEAD_FILE
from albert_tf.errors import UserError
from albert_tf.exit_rule import asked_rule
from albert_tf.hub.names import local_directory
from albert_tf.io.files import read_json_object
from albert_tf.io.whole_folder import ChecksummedFolder
from albert_tf.tasks.early_exit.curve import exit_curve
from albert_tf.tasks.early_exit.curve import write_curve
from albert_tf.tasks.registry import read_task
from albert_tf.tasks.tables import Columns
from albert_tf.tasks.task import Prepared
from albert_tf.tokenization.loading import read_tokenizer
from albert_tf.tokenization.loading import tokenizer_for_model


def run_early_exit(options):
    """Obeys `EarlyExitOptions`; see `albert_tf.early_exit.early_exit`."""
    directory = local_directory(options.model_dir)
    model = load_pretrained(find_head(directory)[0], directory, {})
    if getattr(model, "exit_heads", None) is None:
        raise UserError(
            f"{directory} has no exit heads, so that nothing leaves early; fine-tune "
            "it with --early_exit."
        )
    if options.keep_rule:
        rule = asked_rule(model.exit_rule, options.asked_rule)
        if rule is not None:
            rule.check_fits(model.exit_kind, model.config.num_hidden_layers)
    if options.eval_file is not None:
        _write_curve(options, directory, model)
    if options.keep_rule:
        _keep(directory, rule)


def _write_curve(options, directory, model):
    task, info = read_task(directory)
    if task is None:
        raise UserError(
            f"{directory} does not say what its outputs mean; fine-tune it with labels."
        )
    examples = _examples(options, task)
    tokenizer = tokenizer_for_model(read_tokenizer(directory), model.config, directory)
    length = info.get("max_seq_length", model.config.max_position_embeddings)
    tokens = task.tokenize(examples, tokenizer, length)
    tokens = dataclasses.replace(tokens, labels=task.targets(examples, tokens))
    prepared = Prepared(examples, tokens)
    points = exit_curve(
        task, model, prepared, options.batch_size, length, options.timed_rows
    )
    print(write_curve(points, task.metrics[0], options.output_dir), end="")


def _examples(options, task):
    """Reads the labelled examples of --eval_file."""
    if task.kind == "multiple_choice":
        from albert_tf.tasks.multiple_choice.reading.jsonl import read_jsonl
        from albert_tf.tasks.multiple_choice.reading.questions import Part
        from albert_tf.tasks.multiple_choice.reading.questions import read_questions

        return read_questions([Part(options.eval_file, read_jsonl)], "dev", True)
    columns = Columns(
        options.text_column, options.text_pair_column, options.label_column
    )
    return task.read(options.eval_file, columns)


def _keep(directory, rule):
    """Writes a rule, or that there is none, into a model directory."""
    head = read_json_object(pathlib.Path(directory) / HEAD_FILE)
    head.pop("exit_rule", None)
    if rule is not None:
        head["exit_rule"] = dataclasses.asdict(rule)
    with ChecksummedFolder(directory) as folder:
        folder.write_json(HEAD_FILE, head)
