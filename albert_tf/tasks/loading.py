"""Models that training starts from and fine-tuned ones, with tokenizer and task."""

import dataclasses
import os
import pathlib

from absl import logging

from albert_tf.checkpoints.loading import build_model
from albert_tf.checkpoints.loading import load_pretrained
from albert_tf.checkpoints.loading import read_checkpoint
from albert_tf.checkpoints.warm_start import warm_start
from albert_tf.config import AlbertConfig
from albert_tf.errors import UserError
from albert_tf.io import storage
from albert_tf.model_config import read_config
from albert_tf.models.base import seeded
from albert_tf.tasks.registry import read_task
from albert_tf.tokenization.loading import read_tokenizer
from albert_tf.tokenization.loading import tokenizer_for_model
from albert_tf.tokenization.loading import tokenizer_of

MODEL_DIR = "model"
"""Folder of the fine-tuned model in the output directory of a run."""


def initial_model(start, task, told_by=None):
    """Loads the model that training starts from, and its tokenizer.

    Args:
        start: `StartFlags`, whose model and vocabulary lie here.
        task: the `Task`.
        told_by: from the `Checkpoint` to constructor arguments beside the task's.

    Returns:
        The model, with the checkpoint's weights, and the tokenizer that a flag names,
        else the checkpoint's own.

    Raises:
        UserError: there is no tokenizer; checkpoint, config and vocabulary do not fit
            each other; no checkpoint was named and --from_scratch was not given.
    """
    tokenizer, is_own = _initial_tokenizer(start)
    arguments = {**task.model_arguments(), **start.execution}
    _check_flags(start)
    checkpoint = None
    if not (start.from_scratch or start.init_layers):
        checkpoint = read_checkpoint(start.init_checkpoint)
        checkpoint.read()  # of a model directory it draws weights: not from the seed
        if told_by is not None:
            arguments |= told_by(checkpoint)
    model_class, config = _class_and_config(start, task, checkpoint)
    _check_class(start, task, model_class)
    _check_sizes(start, config, tokenizer, is_own)
    # The head is new, or (after MNLI, say) has another number of labels.
    with seeded(start.random_seed):
        if checkpoint is not None:
            checkpoint = dataclasses.replace(checkpoint, config=config)
            model = build_model(model_class, checkpoint, (), arguments)
            logging.info("%s", model.load_report)
        elif start.init_layers:
            other, rule = read_checkpoint(start.init_checkpoint), start.init_layers
            model, report = warm_start(
                model_class, other, config, rule, (), **arguments
            )
            logging.info("%s", "\n".join(report))
        else:
            model = model_class(config, **arguments)
    return model, tokenizer.laid_out(config.row_layout)


def _initial_tokenizer(start):
    """Loads as `_tokenizer_of`; without a checkpoint, the vocabulary is the model's."""
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
    return _tokenizer_of(start.init_checkpoint, start.vocabulary, start.do_lower_case)


def _tokenizer_of(checkpoint, named, do_lower_case):
    """Loads as `tokenizer_of`; if need be, the vocabulary beside the checkpoint."""
    tokenizer, is_own = tokenizer_of(checkpoint, named, do_lower_case)
    if tokenizer is None:
        # A TF1 checkpoint is named by a prefix of its files.
        is_folder = storage.is_folder(checkpoint)
        folder = checkpoint if is_folder else os.path.dirname(checkpoint) or "."
        tokenizer = read_tokenizer(folder, do_lower_case)
    return tokenizer, is_own


def fine_tuned(output_dir, init_checkpoint=None, asked=None):
    """Finds the fine-tuned model to apply: (directory, its `Task`, training info).

    It is `model/` in the output directory, else --init_checkpoint; that may also be of
    another program, without training info, if its head tells the task. Where there are
    both, --init_checkpoint has to be the start of the run.

    Args:
        output_dir: the flag.
        init_checkpoint: of `StartFlags` whose model lies here.
        asked: the `Task` of the files; see `registry.read_task`.

    Raises:
        UserError: neither was fine-tuned for a task, or both are, each by itself.
    """
    candidates = [pathlib.Path(output_dir) / MODEL_DIR]
    if init_checkpoint:
        candidates.append(pathlib.Path(init_checkpoint))
    for place, directory in enumerate(candidates):
        if not place and not storage.exists(directory):
            continue  # nothing was trained here
        task, info = read_task(directory, asked)
        if task is not None:
            _refuse_second(candidates, directory, info)
            return directory, task, info if "task" in info else {}
    searched = " or ".join(map(str, candidates))
    raise UserError(
        f"There is no fine-tuned model in {searched}; train one with --do_train, or "
        "name one with --init_checkpoint."
    )


def fine_tuned_for(work, kinds, output_dir, init_checkpoint):
    """Finds the fine-tuned model of one family of tasks: (directory, its `Task`).

    Args:
        work: its name, for people.
        kinds: the kinds of its tasks.
        output_dir, init_checkpoint: as of `fine_tuned`.

    Raises:
        UserError: as `fine_tuned`, or the model is of another family.
    """
    directory, task, _ = fine_tuned(output_dir, init_checkpoint)
    if task.kind not in kinds:
        raise UserError(
            f"{directory} was fine-tuned for {task.kind}, not for {work}; apply it "
            "with the command that trained it."
        )
    return directory, task


def _refuse_second(candidates, directory, info):
    """Refuses an --init_checkpoint that another model would answer for."""
    named = candidates[-1]
    if storage.is_same(named, directory):
        return
    start = info.get("init_checkpoint")
    if start is None or not storage.is_same(start, named):
        raise UserError(
            f"{directory} is a fine-tuned model that did not start from "
            f"--init_checkpoint={named}; leave --init_checkpoint out to apply "
            f"{directory}, or name another --output_dir to apply {named}."
        )
    logging.info("%s is applied, which was trained from %s.", directory, named)


def load_fine_tuned(source, task, info, named=None, do_lower_case=None):
    """Loads a fine-tuned model, with its head, and its tokenizer.

    Args:
        source: the directory of the model, or its `Checkpoint`.
        task: its `Task`, which tells arguments that a model without info does not.
        info: its training info, {} without any.
        named, do_lower_case: as of `tokenization.loading.tokenizer_of`.

    Raises:
        UserError: the checkpoint has another head, or does not fit its vocabulary.
    """
    arguments = {} if info else task.model_arguments()
    checkpoint = read_checkpoint(source)
    directory = checkpoint.path
    model_class = task.model_classes().get(checkpoint.family, task.model_class)
    model = load_pretrained(model_class, checkpoint, arguments)
    # A head that the checkpoint lacks is random.
    new = [name for name in model.load_report.new if name in model.head_variables()]
    if new:
        raise UserError(
            f"{directory} has no head for {type(model).__name__}: {new[0]} is missing "
            "or of another shape; name a model that was fine-tuned for it."
        )
    tokenizer, _ = _tokenizer_of(directory, named, do_lower_case)
    return model, tokenizer_for_model(tokenizer, model.config, directory)


def _class_and_config(start, task, checkpoint):
    """Returns the class of the model, and its config with the dropout asked for.

    The checkpoint decides the architecture, or where there is none the flag's file.
    """
    config, classes = checkpoint and checkpoint.config, task.model_classes()
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
    family = checkpoint and checkpoint.family or families.get(type(config))
    model_class = classes.get(family, task.model_class)
    if checkpoint is not None:
        checkpoint.check_family(model_class)
    if start.albert_dropout_prob is not None:
        config = config.with_dropout(start.albert_dropout_prob)
    return model_class, config


def _check_flags(start):
    """Refuses flags that contradict each other."""
    alone = start.albert_config_file and not (
        start.init_checkpoint or start.init_layers
    )
    if start.from_scratch and not alone:
        raise UserError(
            "--from_scratch needs --albert_config_file and no --init_checkpoint or "
            "--init_layers."
        )
    if start.init_layers and not start.albert_config_file:
        raise UserError(
            "--init_layers needs --albert_config_file, which describes the new layers."
        )


def _check_class(start, task, model_class):
    """Refuses flags that the model's class cannot follow."""
    if start.init_layers and model_class.family.config_class is not AlbertConfig:
        raise UserError(
            "--init_layers is for ALBERT and its like, but "
            f"{start.albert_config_file} describes an {model_class.__name__}; leave "
            "the flag out."
        )
    if task.early_exit is not None and not hasattr(model_class, "leave_early"):
        source = start.init_checkpoint or start.albert_config_file
        raise UserError(
            f"--early_exit is for ALBERT and its like, but {source} becomes an "
            f"{model_class.__name__}; leave the flag out."
        )


def _check_sizes(start, config, tokenizer, is_own):
    # A model of ours comes with its vocabulary, and may have room for more pieces.
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
