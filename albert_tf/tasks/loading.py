"""Loads initial and fine-tuned models, with their tokenizer and task."""

import os

from absl import logging

from albert_tf import bundle
from albert_tf.bundle import build_model
from albert_tf.bundle import warm_start
from albert_tf.config import AlbertConfig
from albert_tf.config import read_config
from albert_tf.errors import UserError
from albert_tf.io import storage
from albert_tf.models.base import seeded
from albert_tf.tasks.registry import read_task
from albert_tf.tasks.task import Task
from albert_tf.tokenization.loading import read_tokenizer
from albert_tf.tokenization.loading import tokenizer_for_model

MODEL_DIR = "model"
"""Folder of the fine-tuned model in the output directory."""


def initial_model(start, task, told_by=None):
    """Loads the model that training starts from, and its tokenizer.

    Args:
        start: `StartFlags` whose model and vocabulary are local.
        task: the `Task`.
        told_by: function that maps the `Bundle` to additional constructor arguments.

    Returns:
        The model with the checkpoint's weights, and the tokenizer: a flag's, or else
        the checkpoint's.

    Raises:
        UserError: there is no tokenizer; checkpoint, config and vocabulary do not
            match; or there is neither a checkpoint nor --from_scratch.
    """
    _check_flags(start)
    opened = start.opened
    tokenizer, is_own = _initial_tokenizer(start, opened)
    arguments = {**task.model_arguments(), **start.execution}
    keeps_layers = not (start.from_scratch or start.init_layers)
    if keeps_layers:
        _ = opened.tensors  # may draw random weights: before seeding
        if told_by is not None:
            arguments |= told_by(opened)
    kept = opened if keeps_layers else None
    model_class, config = _class_and_config(start, task, kept)
    _check_sizes(start, config, tokenizer, is_own)
    # The head is new, or has another number of labels (after MNLI, say).
    with seeded(start.random_seed):
        if kept is not None:
            model = build_model(model_class, kept, (), arguments, config=config)
            logging.info("%s", model.load_report)
        elif start.init_layers:
            model, report = warm_start(
                model_class, opened, config, start.init_layers, (), **arguments
            )
            logging.info("%s", "\n".join(report))
        else:
            model = model_class(config, **arguments)
    return model, tokenizer.laid_out(config.row_layout)


def _initial_tokenizer(start, opened):
    """Returns the tokenizer, and whether it comes from the model's folder."""
    if start.from_scratch:
        if not start.vocabulary:
            raise UserError(
                "Name the vocabulary with --spm_model_file or --vocab_file."
            )
        return read_tokenizer(start.vocabulary, start.do_lower_case), True
    if not start.init_checkpoint:
        raise UserError(
            "--init_checkpoint is empty, so the model would start from random weights; "
            "name a checkpoint, or ask for that with --from_scratch."
        )
    tokenizer = opened.tokenizer(start.vocabulary, start.do_lower_case)
    return tokenizer, opened.brings_tokenizer()


def fine_tuned(output_dir, start=None, asked=None, task_class=Task):
    """Finds the fine-tuned model to apply: its `Bundle` and its `Task`.

    The model is `model/` in the output directory, or else --init_checkpoint, which may
    come from another program, without training info, if its head determines the task.
    If there are both, the run must have started from --init_checkpoint.

    Args:
        output_dir: the value of the flag.
        start: the `Bundle` of --init_checkpoint, or None.
        asked: the `Task` of the files; see `registry.read_task`.
        task_class: the class of the command's tasks.

    Raises:
        UserError: there is no fine-tuned model, it is for another command, or there are
            two unrelated ones.
    """
    own = os.path.join(output_dir, MODEL_DIR)
    candidates = [bundle.open(own)] if storage.exists(own) else []
    for opened in filter(None, (*candidates, start)):
        task = read_task(opened, asked)
        if task is not None:
            if start is not None and opened is not start:
                _refuse_second(opened, start)
            if not isinstance(task, task_class):
                raise UserError(
                    f"{opened.path} was fine-tuned for {task.kind}; apply it with the "
                    "command that trained it."
                )
            return opened, task
    searched = f"{own} or {start.path}" if start else own
    raise UserError(
        f"There is no fine-tuned model in {searched}; train one with --do_train, or "
        "name one with --init_checkpoint."
    )


def _refuse_second(opened, start):
    """Refuses an --init_checkpoint that the fine-tuned model did not start from."""
    if storage.is_same(opened.path, start.path):
        return
    began = opened.info.get("init_checkpoint")
    is_start = began is not None and storage.is_same(began, start.path)
    if not is_start and opened.info.get("init_digest") != start.digest():
        raise UserError(
            f"{opened.path} is a fine-tuned model that did not start from "
            f"--init_checkpoint={start.path}; leave --init_checkpoint out to apply "
            f"{opened.path}, or name another --output_dir to apply {start.path}."
        )
    logging.info("%s is applied, which was trained from %s.", opened.path, start.path)


def load_fine_tuned(opened, task, named=None, do_lower_case=None):
    """Loads a fine-tuned model, with its head, and its tokenizer.

    Args:
        opened: the `Bundle` of the model.
        task: its `Task`, which completes a model without training info.
        named, do_lower_case: see `Bundle.tokenizer`.

    Raises:
        UserError: the checkpoint has another head, or does not fit its vocabulary.
    """
    arguments = {} if opened.facts else task.model_arguments()
    model_class = task.model_classes().get(opened.family, task.model_class)
    model = opened.model(model_class, **arguments)
    # If the checkpoint lacks the head, the head is random.
    new = [name for name in model.load_report.new if name in model.head_variables()]
    if new:
        raise UserError(
            f"{opened.path} has no head for {type(model).__name__}: {new[0]} is "
            "missing or of another shape; name a model that was fine-tuned for it."
        )
    tokenizer = opened.tokenizer(named, do_lower_case)
    return model, tokenizer_for_model(tokenizer, model.config, opened.path)


def _class_and_config(start, task, opened):
    """Returns the model class, and its config with the dropout of the flags.

    The initial model determines the architecture, or else the config file of the flags.

    Raises:
        UserError: there is no config, or the class lacks a feature that the flags need.
    """
    config, classes = opened and opened.config, task.model_classes()
    if start.albert_config_file:
        known = [family.config_class for family in classes]
        known = known if config is None else [type(config)]
        config = read_config(start.albert_config_file, known)
    if config is None:
        raise UserError(
            f"No albert_config.json lies beside {start.init_checkpoint}; name it "
            "with --albert_config_file."
        )
    families = {family.config_class: family for family in classes}
    family = opened and opened.family or families.get(type(config))
    model_class = classes.get(family, task.model_class)
    if opened is not None:
        opened.check_family(model_class)
    is_albert = model_class.family.config_class is AlbertConfig
    asked = {
        "init_layers": start.init_layers and not is_albert,
        "early_exit": task.early_exit and not hasattr(model_class, "leave_early"),
    }
    for flag, lacks in asked.items():
        if lacks:
            raise UserError(
                f"--{flag} is for ALBERT and its like, but "
                f"{start.albert_config_file or start.init_checkpoint} becomes an "
                f"{model_class.__name__}; leave the flag out."
            )
    if start.albert_dropout_prob is not None:
        config = config.with_dropout(start.albert_dropout_prob)
    return model_class, config


def _check_flags(start):
    """Refuses combinations of flags in which one would be ignored."""
    has_weights = start.init_checkpoint or start.init_layers
    if start.from_scratch and (has_weights or not start.albert_config_file):
        raise UserError(
            "--from_scratch needs --albert_config_file and no --init_checkpoint or "
            "--init_layers."
        )
    if start.init_layers and not start.albert_config_file:
        raise UserError(
            "--init_layers needs --albert_config_file, which describes the new layers."
        )


def _check_sizes(start, config, tokenizer, is_own):
    # A model directory has its own vocabulary, and may have room for more pieces.
    too_large = tokenizer.vocab_size > config.vocab_size
    if too_large or (not is_own and tokenizer.vocab_size != config.vocab_size):
        raise UserError(
            f"The vocabulary has {tokenizer.vocab_size} pieces, but the model has "
            f"{config.vocab_size}; give the vocabulary that the model was trained "
            "with."
        )
    if config.longest_row(start.max_seq_length) < start.max_seq_length:
        raise UserError(
            f"--max_seq_length={start.max_seq_length} is more than the model's "
            f"{config.max_position_embeddings} positions; lower it."
        )
