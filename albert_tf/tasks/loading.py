"""Loads initial and fine-tuned models, with their tokenizer and task."""

import functools
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


class Start:
    """The model and the vocabulary that training starts from.

    Args:
        flags: `StartFlags` whose model and vocabulary are local.

    Attributes:
        flags: the argument.
        opened: the `Bundle` with the initial weights; None for random weights.
        tokenizer: the `Tokenizer`: a flag's, or else the model's.

    Raises:
        UserError: flags contradict each other, there is no tokenizer, or there is
            neither a checkpoint nor --from_scratch.
    """

    def __init__(self, flags):
        _check_flags(flags)
        self.flags, self.opened = flags, flags.opened
        read = read_tokenizer if self.opened is None else self.opened.tokenizer
        self.tokenizer = read(flags.vocabulary, flags.do_lower_case)

    @functools.cached_property
    def digest(self):
        """The fingerprint of the initial weights; None for random weights."""
        return self.opened and self.opened.digest()

    def model(self, task, told_by=None):
        """Builds the model that training starts from.

        Args:
            task: the `Task`.
            told_by: function that maps the `Bundle` to additional constructor
                arguments.

        Returns:
            The model with the initial weights, and its tokenizer.

        Raises:
            UserError: checkpoint, config and vocabulary do not match.
        """
        arguments = {**task.model_arguments(), **self.flags.execution}
        rule = self.flags.init_layers
        kept = None if rule else self.opened
        if kept is not None:
            _ = kept.tensors  # may draw random weights: before seeding
            if told_by is not None:
                arguments |= told_by(kept)
        model_class, config = self._class_and_config(task, kept)
        self._check_sizes(config)
        # The head is new, or has another number of labels (after MNLI, say).
        with seeded(self.flags.random_seed):
            if kept is not None:
                model = build_model(model_class, kept, (), arguments, config=config)
                logging.info("%s", model.load_report)
            elif rule:
                model, report = warm_start(
                    model_class, self.opened, config, rule, (), **arguments
                )
                logging.info("%s", "\n".join(report))
            else:
                model = model_class(config, **arguments)
        return model, self.tokenizer.laid_out(config.row_layout)

    def _class_and_config(self, task, kept):
        """Returns the model class, and its config with the dropout asked for.

        The initial model determines the architecture, or else the config file.

        Raises:
            UserError: there is no config, or the class lacks a feature that the task
                or the layers need.
        """
        flags, classes = self.flags, task.model_classes()
        config = kept and kept.config
        if flags.albert_config_file:
            known = [family.config_class for family in classes]
            known = known if config is None else [type(config)]
            config = read_config(flags.albert_config_file, known)
        if config is None:
            raise UserError(
                f"No albert_config.json lies beside {self.opened.path}; name it "
                "with --albert_config_file."
            )
        families = {family.config_class: family for family in classes}
        family = kept and kept.family or families.get(type(config))
        model_class = classes.get(family, task.model_class)
        if kept is not None:
            kept.check_family(model_class)
        is_albert = model_class.family.config_class is AlbertConfig
        asked = {
            "init_layers": flags.init_layers and not is_albert,
            "early_exit": task.early_exit and not hasattr(model_class, "leave_early"),
        }
        for flag, lacks in asked.items():
            if lacks:
                raise UserError(
                    f"--{flag} is for ALBERT and its like, but "
                    f"{flags.albert_config_file or self.opened.path} becomes an "
                    f"{model_class.__name__}; leave the flag out."
                )
        if flags.albert_dropout_prob is not None:
            config = config.with_dropout(flags.albert_dropout_prob)
        return model_class, config

    def _check_sizes(self, config):
        size = self.tokenizer.vocab_size
        # A model directory has its own vocabulary, and may have room for more pieces.
        has_room = self.opened is None or self.opened.brings_tokenizer()
        if size > config.vocab_size or not (has_room or size == config.vocab_size):
            raise UserError(
                f"The vocabulary has {size} pieces, but the model has "
                f"{config.vocab_size}; give the vocabulary that the model was trained "
                "with."
            )
        length = self.flags.max_seq_length
        if config.longest_row(length) < length:
            raise UserError(
                f"--max_seq_length={length} is more than the model's "
                f"{config.max_position_embeddings} positions; lower it."
            )


def _check_flags(flags):
    """Refuses `StartFlags` of which one would be ignored, or one is missing."""
    has_weights = flags.init_checkpoint or flags.init_layers
    if flags.from_scratch and (has_weights or not flags.albert_config_file):
        raise UserError(
            "--from_scratch needs --albert_config_file and no --init_checkpoint or "
            "--init_layers."
        )
    if flags.init_layers and not flags.albert_config_file:
        raise UserError(
            "--init_layers needs --albert_config_file, which describes the new layers."
        )
    if not (flags.from_scratch or flags.init_checkpoint):
        raise UserError(
            "--init_checkpoint is empty, so the model would start from random weights; "
            "name a checkpoint, or ask for that with --from_scratch."
        )
    if flags.from_scratch and not flags.vocabulary:
        raise UserError("Name the vocabulary with --spm_model_file or --vocab_file.")


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
