"""Models that training starts from and fine-tuned ones, with tokenizer and task."""

import dataclasses
import pathlib

from absl import logging

from albert_tf.checkpoints.loading import build_model
from albert_tf.checkpoints.loading import family_of
from albert_tf.checkpoints.loading import load_pretrained
from albert_tf.checkpoints.loading import read_checkpoint
from albert_tf.checkpoints.warm_start import warm_start
from albert_tf.config import AlbertConfig
from albert_tf.errors import UserError
from albert_tf.hub.names import local_directory
from albert_tf.io import storage
from albert_tf.model_config import read_config
from albert_tf.models.base import seeded
from albert_tf.tasks.registry import read_task
from albert_tf.tokenization import load_tokenizer
from albert_tf.tokenization import load_tokenizer_for
from albert_tf.tokenization import saved_tokenizer
from albert_tf.tokenization.loading import read_tokenizer
from albert_tf.tokenization.loading import tokenizer_for_model

MODEL_DIR = "model"
"""Folder of the fine-tuned model in the output directory of a run."""


def initial_tokenizer(start):
    """Loads the tokenizer named by one of the `StartFlags`, else the checkpoint's own.

    Raises:
        UserError: there is none, or the checkpoint comes with another one; no
            checkpoint was named and --from_scratch was not given.
    """
    named = start.vocabulary
    if start.from_scratch:
        if named is None:
            raise UserError(
                "Name the vocabulary with --spm_model_file or --vocab_file."
            )
        return load_tokenizer(named, start.do_lower_case)
    if not start.init_checkpoint:
        raise UserError(
            "--init_checkpoint is empty, so the model would start from random weights; "
            "name a checkpoint, or ask for that with --from_scratch."
        )
    return tokenizer_of(start.init_checkpoint, named, start.do_lower_case)


def tokenizer_of(checkpoint, named=None, do_lower_case=None):
    """Loads the tokenizer that a flag named, else the one beside a checkpoint.

    Raises:
        UserError: there is none, or the checkpoint comes with another one.
    """
    if named is not None:
        return load_tokenizer_for(checkpoint, named, do_lower_case)
    path = pathlib.Path(checkpoint)
    # A TF1 checkpoint is named by a prefix of its files.
    return read_tokenizer(path if path.is_dir() else path.parent, do_lower_case)


def initial_model(start, task, tokenizer, **more):
    """Builds the model that training starts from, with the checkpoint's weights.

    Args:
        start: `StartFlags`.
        task: the `Task`.
        tokenizer: the result of `initial_tokenizer`.
        **more: constructor arguments beside the task's.

    Raises:
        UserError: checkpoint, config and vocabulary do not fit each other.
    """
    arguments = {**task.model_arguments(), **start.execution, **more}
    if start.from_scratch:
        if not start.albert_config_file or start.init_checkpoint or start.init_layers:
            raise UserError(
                "--from_scratch needs --albert_config_file and no --init_checkpoint or "
                "--init_layers."
            )
        model_class, config = _class_and_config(start, task)
        _check_sizes(start, config, tokenizer)
        with seeded(start.random_seed):
            return model_class(config, **arguments)
    if start.init_layers:
        return _of_other_layers(start, task, tokenizer, arguments)
    checkpoint = read_checkpoint(start.init_checkpoint)
    model_class, config = _class_and_config(start, task, checkpoint)
    _check_sizes(start, config, tokenizer)
    # The head is new, or (after MNLI, say) has another number of labels.
    with seeded(start.random_seed):
        model = build_model(
            model_class,
            dataclasses.replace(checkpoint, config=config),
            allow_missing=(),
            arguments=arguments,
        )
    logging.info("%s", model.load_report)
    return model


def _of_other_layers(start, task, tokenizer, arguments):
    """Builds the model of `initial_model` from a checkpoint of other layers."""
    if not start.albert_config_file:
        raise UserError(
            "--init_layers needs --albert_config_file, which describes the new layers."
        )
    model_class, config = _class_and_config(start, task)
    if not isinstance(config, AlbertConfig):
        raise UserError(
            "--init_layers is for ALBERT and its like, but "
            f"{start.albert_config_file} describes an {model_class.__name__}; leave "
            "the flag out."
        )
    _check_sizes(start, config, tokenizer)
    path, rule = start.init_checkpoint, start.init_layers
    with seeded(start.random_seed):
        model, report = warm_start(model_class, path, config, rule, (), **arguments)
    logging.info("%s", "\n".join(report))
    return model


def fine_tuned(output_dir, init_checkpoint=None, asked=None):
    """Finds the fine-tuned model to apply: (directory, its `Task`, training info).

    It is `model/` in the output directory, else --init_checkpoint; that may also be of
    another program, without training info, if its head tells the task. Where there are
    both, --init_checkpoint has to be the start of the run.

    Args:
        output_dir, init_checkpoint: the flags.
        asked: the `Task` of the files; see `registry.read_task`.

    Raises:
        UserError: neither was fine-tuned for a task, or both are, each by itself.
    """
    candidates = [pathlib.Path(output_dir) / MODEL_DIR]
    if init_checkpoint:
        candidates.append(pathlib.Path(local_directory(init_checkpoint)))
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


def fine_tuned_for(work, kinds, options):
    """Finds the fine-tuned model of one family of tasks: (directory, its `Task`).

    Args:
        work: its name, for people.
        kinds: the kinds of its tasks.
        options: `TaskOptions`.

    Raises:
        UserError: as `fine_tuned`, or the model is of another family.
    """
    directory, task, _ = fine_tuned(options.output_dir, options.init_checkpoint)
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


def load_fine_tuned(directory, task, info, named=None, do_lower_case=None):
    """Loads a fine-tuned model, with its head, and its tokenizer.

    Args:
        directory: of the model.
        task: its `Task`, which tells arguments that a model without info does not.
        info: its training info, {} without any.
        named, do_lower_case: as of `tokenizer_of`.

    Raises:
        UserError: the checkpoint has another head, or does not fit its vocabulary.
    """
    arguments = {} if info else task.model_arguments()
    model_class = task.model_classes().get(family_of(directory), task.model_class)
    model = load_pretrained(model_class, directory, arguments)
    check_head(model, directory)
    tokenizer = tokenizer_of(directory, named, do_lower_case)
    return model, tokenizer_for_model(tokenizer, model.config, directory)


def check_head(model, directory):
    """Refuses a model whose head is random, since its checkpoint has another one.

    Args:
        model: a `PretrainedModel` of `from_pretrained`.
        directory: where it is from.

    Raises:
        UserError: it names a variable.
    """
    new = [name for name in model.load_report.new if name in model.head_variables()]
    if new:
        raise UserError(
            f"{directory} has no head for {type(model).__name__}: {new[0]} is missing "
            "or of another shape; name a model that was fine-tuned for it."
        )


def _class_and_config(start, task, checkpoint=None):
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
    if task.early_exit is not None and not hasattr(model_class, "leave_early"):
        source = start.init_checkpoint or start.albert_config_file
        raise UserError(
            f"--early_exit is for ALBERT and its like, but {source} becomes an "
            f"{model_class.__name__}; leave the flag out."
        )
    if start.albert_dropout_prob is not None:
        config = config.with_dropout(start.albert_dropout_prob)
    return model_class, config


def _check_sizes(start, config, tokenizer):
    # A model of ours comes with its vocabulary, and may have room for more pieces.
    known = start.from_scratch or saved_tokenizer(start.init_checkpoint)
    too_large = tokenizer.vocab_size > config.vocab_size
    if too_large or (not known and tokenizer.vocab_size != config.vocab_size):
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
