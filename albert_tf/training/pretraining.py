"""Pretraining: from TFRecords to a model directory."""

import os

import keras
import tensorflow as tf
from absl import logging

from albert_tf.config import AlbertConfig
from albert_tf.errors import UserError
from albert_tf.models.pretraining import AlbertForPreTraining
from albert_tf.optimizers import create_optimizer
from albert_tf.tokenization import load_tokenizer
from albert_tf.training.pretraining_objective import PretrainingObjective
from albert_tf.training.replica_step import StepOptions
from albert_tf.training.reporting_flags import report_options
from albert_tf.training.run_info import run_info
from albert_tf.training.strategy import create_strategy
from albert_tf.training.summaries import write_eval_results
from albert_tf.training.trainer import Trainer
from albert_tf.training.trainer import TrainerOptions
from data_pipeline.input_pipeline import pretraining_dataset

_IDS = ("input_ids", "masked_lm_ids")
# What an entry of the history holds besides the metrics.
_WHEN = ("step", "train_seconds")


def pretrain(options):
    """Trains and evaluates as `PretrainingOptions` say.

    Returns:
        The held-out metrics at the end, or None without `--eval_file`.

    Raises:
        UserError: a file, flag or checkpoint that does not fit, or divergence.
        SystemExit: the run was asked to stop and has saved its state.
    """
    tokenizer = _tokenizer(options)
    config = _config(options, tokenizer)
    keras.utils.set_random_seed(options.random_seed)
    strategy = create_strategy(options.distribution_strategy)
    with strategy.scope():
        model = _initial_model(options, config)
        optimizer = create_optimizer(
            options.optimizer,
            options.learning_rate,
            options.num_train_steps,
            options.num_warmup_steps,
            options.poly_power,
        )
    _check_data(options, tokenizer, config)
    trainer = Trainer(
        model,
        PretrainingObjective(),
        optimizer,
        strategy,
        _trainer_options(options, report_options(options, model, strategy)),
    )
    eval_dataset = _eval_dataset(options, tokenizer)
    if options.do_train:
        dataset = _dataset(options, options.input_file, tokenizer, training=True)
        os.makedirs(options.output_dir, exist_ok=True)
        try:
            trainer.train(dataset, eval_dataset)
        except tf.errors.DataLossError as error:
            raise _unreadable(options.input_file, error) from error
        info = run_info(options, trainer.step, trainer.history)
        model.save_pretrained(options.output_dir, tokenizer, info)
        logging.info("Model directory: %s", options.output_dir)
    if not options.do_eval:
        return None
    if options.do_train:
        # Training has ended with an evaluation at this very step.
        results = {k: v for k, v in trainer.history[-1].items() if k not in _WHEN}
    else:
        results = trainer.evaluator.evaluate(eval_dataset)
    results["global_step"] = trainer.step
    write_eval_results(os.path.join(options.output_dir, "eval_results.txt"), results)
    return results


def _tokenizer(options):
    path = options.spm_model_file or options.vocab_file
    if not path:
        raise UserError(
            "Pass --spm_model_file or --vocab_file, the vocabulary that the data was "
            "made with: it becomes part of the model."
        )
    return load_tokenizer(path, options.do_lower_case)


def _config(options, tokenizer):
    config = AlbertConfig.from_json_file(options.albert_config_file)
    if config.vocab_size < tokenizer.vocab_size:
        raise UserError(
            f"{options.albert_config_file} has vocab_size {config.vocab_size}, but the "
            f"tokenizer has {tokenizer.vocab_size} pieces; set vocab_size to at least "
            "that."
        )
    if config.max_position_embeddings < options.max_seq_length:
        raise UserError(
            f"--max_seq_length={options.max_seq_length} exceeds "
            f"max_position_embeddings={config.max_position_embeddings} of "
            f"{options.albert_config_file}; shorten the sequences."
        )
    return config


def _check_data(options, tokenizer, config):
    """Reads a batch of each data set, before anything is written.

    XLA clips ids that are not in the table instead of failing: a model would train
    on data of another vocabulary and nobody would see it.
    """
    for input_file in filter(None, (options.input_file, options.eval_file)):
        dataset = _dataset(options, input_file, tokenizer, training=False)
        try:
            batch = next(iter(dataset), None)
        except (tf.errors.DataLossError, tf.errors.InvalidArgumentError) as error:
            raise _unreadable(input_file, error) from error
        if batch is None:
            raise UserError(f"{input_file} holds no sequences; make the data again.")
        largest = max(int(tf.reduce_max(batch[name])) for name in _IDS)
        if largest >= config.vocab_size:
            raise UserError(
                f"{input_file} holds the id {largest}, but "
                f"{options.albert_config_file} has vocab_size {config.vocab_size}; "
                "make the data with the model's vocabulary."
            )


def _unreadable(input_file, error):
    return UserError(
        f"{input_file} cannot be read as TFRecords of --max_seq_length and "
        f"--max_predictions_per_seq ({error.message.splitlines()[0]}); a file is "
        "damaged, or of other lengths: make it again or pass its own."
    )


def _initial_model(options, config):
    if options.do_train and options.init_checkpoint is None:
        return AlbertForPreTraining(config)
    # Evaluating alone is done on what training left in --output_dir.
    model = AlbertForPreTraining.from_pretrained(
        options.init_checkpoint or options.output_dir
    )
    if model.config != config:
        raise UserError(
            f"{options.init_checkpoint or options.output_dir} holds a model of another "
            f"configuration than {options.albert_config_file}; pass its own."
        )
    return model


def _trainer_options(options, report):
    return TrainerOptions(
        output_dir=options.output_dir,
        num_train_steps=options.num_train_steps,
        steps_per_loop=options.iterations_per_loop,
        save_checkpoints_steps=options.save_checkpoints_steps,
        keep_checkpoint_max=options.keep_checkpoint_max,
        eval_steps=options.eval_steps,
        report=report,
        step=StepOptions(
            gradient_accumulation_steps=options.gradient_accumulation_steps,
            use_xla=options.use_xla,
            seed=options.random_seed,
        ),
    )


def _eval_dataset(options, tokenizer):
    if options.eval_file is None:
        if options.do_eval or options.eval_steps:
            raise UserError(
                "--do_eval and --eval_steps need --eval_file, held-out TFRecords "
                "(create_pretraining_data --held_out_fraction writes some)."
            )
        return None
    dataset = _dataset(options, options.eval_file, tokenizer, training=False)
    return dataset.take(options.max_eval_steps)


def _dataset(options, input_file, tokenizer, training):
    return pretraining_dataset(
        input_file,
        tokenizer,
        options.train_batch_size if training else options.eval_batch_size,
        options.max_seq_length,
        options.max_predictions_per_seq,
        options.random_seed,
        training,
    )
