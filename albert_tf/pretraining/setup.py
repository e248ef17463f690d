"""What a pretraining run starts from: tokenizer, configuration, model, optimizer."""

import os

from absl import logging

from albert_tf import storage
from albert_tf.checkpoints.model_directory import TRAINING_INFO_FILE
from albert_tf.checkpoints.warm_start import warm_start
from albert_tf.config import AlbertConfig
from albert_tf.engine.execution_flags import execution_arguments
from albert_tf.errors import UserError
from albert_tf.files import read_json_object
from albert_tf.models.pretraining import AlbertForPreTraining
from albert_tf.optimizers import create_optimizer
from albert_tf.optimizers import scaled_learning_rate
from albert_tf.tokenization import load_tokenizer_for
from albert_tf.tokenization import saved_tokenizer

_PRETRAINING_HEADS = "cls/"


def tokenizer_from(options):
    """The tokenizer of `PretrainingOptions`, else that of `--init_checkpoint`.

    Returns:
        A tokenizer, or None: the official command names none, and records that are
        masked already can be trained on without.

    Raises:
        UserError: `--init_checkpoint` was trained with another.
    """
    named = options.spm_model_file or options.vocab_file
    if named:
        return load_tokenizer_for(options.init_checkpoint, named, options.do_lower_case)
    own = saved_tokenizer(options.init_checkpoint)
    if own is None:
        logging.warning(
            "Neither --spm_model_file nor --vocab_file: the model directory will "
            "hold no vocabulary, and nobody checks that the data fits."
        )
    return own


def config_from(options, tokenizer, phases):
    """The `AlbertConfig` of `PretrainingOptions`.

    Raises:
        UserError: it does not fit the vocabulary or the lengths of the `phases`.
    """
    config = AlbertConfig.from_json_file(options.albert_config_file)
    if tokenizer is not None and config.vocab_size < tokenizer.vocab_size:
        raise UserError(
            f"{options.albert_config_file} has vocab_size {config.vocab_size}, but the "
            f"tokenizer has {tokenizer.vocab_size} pieces; set vocab_size to at least "
            "that."
        )
    longest = max(phase.max_seq_length for phase in phases)
    if config.max_position_embeddings < longest:
        raise UserError(
            f"--max_seq_length={longest} exceeds "
            f"max_position_embeddings={config.max_position_embeddings} of "
            f"{options.albert_config_file}; shorten the sequences."
        )
    return config


def initial_model(options, config, sentence_order):
    """The model before the first step, or the trained one where none is to be taken.

    Args:
        options: the `PretrainingOptions`.
        config: the `AlbertConfig`.
        sentence_order: without it, the sentence head and the pooler do not train:
            nothing but weight decay would reach them.

    Raises:
        UserError: a checkpoint that does not fit.
    """
    arguments = execution_arguments(options)
    if not options.do_train:
        return _trained_model(options, config, arguments)
    if not options.init_checkpoint:
        model = AlbertForPreTraining(config, **arguments)
    else:
        model, report = warm_start(
            AlbertForPreTraining,
            options.init_checkpoint,
            config,
            options.init_from_group0,
            allow_missing=(_PRETRAINING_HEADS,),
            **arguments,
        )
        logging.info("%s", "\n".join(report))
    model.albert.pooler.trainable = sentence_order
    model.sentence_order_head.trainable = sentence_order
    return model


def _trained_model(options, config, arguments):
    path = options.init_checkpoint or options.output_dir
    model = AlbertForPreTraining.from_pretrained(path, **arguments)
    if model.config != config:
        raise UserError(
            f"{path} holds a model of another configuration than "
            f"{options.albert_config_file}; pass its own."
        )
    return model


def trained_steps(options):
    """Steps that the model of `--do_train=false` was trained for; 0 if unknown."""
    directory = options.init_checkpoint or options.output_dir
    path = os.path.join(directory, TRAINING_INFO_FILE)
    return read_json_object(path).get("step", 0) if storage.exists(path) else 0


def learning_rate_from(options):
    """The rate that the warm-up leads to."""
    if not options.scale_learning_rate:
        return options.learning_rate
    return scaled_learning_rate(options.learning_rate, options.train_batch_size)


def optimizer_from(options):
    """The optimizer of `PretrainingOptions`, with its schedule."""
    return create_optimizer(
        options.optimizer,
        learning_rate_from(options),
        options.num_train_steps,
        options.num_warmup_steps,
        options.poly_power,
        options.lr_schedule,
        options.start_warmup_step,
    )
