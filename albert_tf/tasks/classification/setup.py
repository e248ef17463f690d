"""From the flags of run_classifier to a task, a tokenizer and a model."""

import dataclasses
import glob
import os
import pathlib

import keras
from absl import logging

from albert_tf.checkpoints.loading import build_model
from albert_tf.checkpoints.loading import read_checkpoint
from albert_tf.checkpoints.model_directory import TRAINING_INFO_FILE
from albert_tf.config import AlbertConfig
from albert_tf.engine.execution_flags import execution_arguments
from albert_tf.errors import UserError
from albert_tf.files import read_json_object
from albert_tf.models.sequence_classification import AlbertForSequenceClassification
from albert_tf.tasks.classification.custom import custom_source
from albert_tf.tasks.classification.glue import glue_source
from albert_tf.tasks.results import MODEL_DIR
from albert_tf.tasks.tables import Columns
from albert_tf.tasks.text_task import TextTask
from albert_tf.tokenization import load_tokenizer
from albert_tf.tokenization import load_tokenizer_for
from albert_tf.tokenization import saved_tokenizer

_CUSTOM = "custom"


def source_from(options):
    """The `Source` that the flags name.

    Raises:
        UserError: --task_name or --data_dir is missing, or they do not fit.
    """
    for name in ("task_name", "data_dir"):
        if not getattr(options, name):
            raise UserError(f"--{name} is needed to train, evaluate or predict a file.")
    if options.task_name != _CUSTOM:
        return glue_source(options.task_name, options.data_dir, options.skip_bad_rows)
    return _custom_source(options)


def tokenizer_from(options):
    """The tokenizer named by a flag, else the one beside the checkpoint.

    Raises:
        UserError: there is none, or the checkpoint comes with another one; no
            checkpoint was named and --from_scratch was not given.
    """
    named = options.spm_model_file or options.vocab_file
    if not options.from_scratch:
        _check_exists(options.init_checkpoint)
    elif named is None:
        raise UserError("Name the vocabulary with --spm_model_file or --vocab_file.")
    if named is None:
        path = pathlib.Path(options.init_checkpoint)
        # A TF1 checkpoint is named by a prefix of its files.
        return load_tokenizer(
            path if path.is_dir() else path.parent, options.do_lower_case
        )
    return load_tokenizer_for(options.init_checkpoint, named, options.do_lower_case)


def initial_model(options, task, tokenizer):
    """The model that training starts from, with the checkpoint's weights.

    Raises:
        UserError: checkpoint, config and vocabulary do not fit each other.
    """
    keras.utils.set_random_seed(options.random_seed)
    execution = execution_arguments(options)
    if options.from_scratch:
        if not options.albert_config_file or options.init_checkpoint:
            raise UserError(
                "--from_scratch needs --albert_config_file and no --init_checkpoint."
            )
        config = _config(options, None)
        _check_sizes(options, config, tokenizer)
        return AlbertForSequenceClassification(config, task.num_outputs, **execution)
    checkpoint = read_checkpoint(options.init_checkpoint)
    config = _config(options, checkpoint.config)
    _check_sizes(options, config, tokenizer)
    # The head is new, or (after MNLI, say) has another number of labels.
    model = build_model(
        AlbertForSequenceClassification,
        dataclasses.replace(checkpoint, config=config),
        allow_missing=(),
        arguments={"num_labels": task.num_outputs, **execution},
    )
    logging.info("%s", model.load_report)
    return model


def fine_tuned(options):
    """The fine-tuned model to apply: (its directory, its `TextTask`, training info).

    It is `model/` in the output directory, else --init_checkpoint.

    Raises:
        UserError: neither was fine-tuned by run_classifier.
    """
    candidates = [pathlib.Path(options.output_dir) / MODEL_DIR]
    if options.init_checkpoint:
        candidates.append(pathlib.Path(options.init_checkpoint))
    for directory in candidates:
        path = directory / TRAINING_INFO_FILE
        info = read_json_object(path) if path.exists() else {}
        if "task" in info:
            return directory, TextTask.from_training_info(info, directory), info
    raise UserError(
        f"{' and '.join(map(str, candidates))} hold no fine-tuned model; train one "
        "with --do_train, or name one with --init_checkpoint."
    )


def _custom_source(options):
    kind, required = options.label_kind, ("train", "dev")
    labels = tuple(options.labels.split(",")) if options.labels else ()
    if not options.do_train:
        required = ("dev",) if options.do_eval else ()
        # The model to apply knows what the training table would tell.
        task = fine_tuned(options)[1]
        kind, labels = task.kind, labels or task.labels
    columns = Columns(
        options.text_column, options.text_pair_column, options.label_column
    )
    return custom_source(
        options.data_dir, columns, kind, labels, options.skip_bad_rows, required
    )


def _config(options, own):
    """The config of the flags or of the checkpoint, with the dropout asked for."""
    config = own
    if options.albert_config_file:
        config = AlbertConfig.from_json_file(options.albert_config_file)
    if config is None:
        raise UserError(
            f"No albert_config.json lies beside {options.init_checkpoint}; name it "
            "with --albert_config_file."
        )
    if options.albert_dropout_prob is not None:
        rate = options.albert_dropout_prob
        config = dataclasses.replace(
            config, hidden_dropout_prob=rate, attention_probs_dropout_prob=rate
        )
    return config


def _check_sizes(options, config, tokenizer):
    # A model of ours comes with its vocabulary, and may have room for more pieces.
    known = options.from_scratch or saved_tokenizer(options.init_checkpoint)
    too_large = tokenizer.vocab_size > config.vocab_size
    if too_large or (not known and tokenizer.vocab_size != config.vocab_size):
        raise UserError(
            f"The vocabulary has {tokenizer.vocab_size} pieces, but the model "
            f"{config.vocab_size}; give the vocabulary that the model was trained with."
        )
    if options.max_seq_length > config.max_position_embeddings:
        raise UserError(
            f"--max_seq_length={options.max_seq_length} is more than the model's "
            f"{config.max_position_embeddings} positions."
        )


def _check_exists(checkpoint):
    if not checkpoint:
        raise UserError(
            "--init_checkpoint is empty, so the model would start from random weights; "
            "name a checkpoint, or ask for that with --from_scratch."
        )
    # A TF1 checkpoint is named by a prefix of its files.
    if not (os.path.exists(checkpoint) or glob.glob(f"{glob.escape(checkpoint)}.*")):
        raise UserError(
            f"--init_checkpoint={checkpoint} does not exist; name a model directory or "
            "the prefix of a TF1 checkpoint."
        )
