"""Pretraining: from TFRecords to a model directory."""

import os

import keras
import tensorflow as tf
from absl import logging

from albert_tf import storage
from albert_tf.engine.device_flags import strategy_from
from albert_tf.engine.early_stopping import save_best_model
from albert_tf.engine.options import TrainerOptions
from albert_tf.engine.reporting.summaries import write_eval_results
from albert_tf.engine.train_step import StepOptions
from albert_tf.engine.trainer import Trainer
from albert_tf.errors import UserError
from albert_tf.pretraining.data import UNREADABLE
from albert_tf.pretraining.data import PretrainingData
from albert_tf.pretraining.data import unreadable
from albert_tf.pretraining.file_evaluator import FileEvaluator
from albert_tf.pretraining.objective import PretrainingObjective
from albert_tf.pretraining.phases import plan_phases
from albert_tf.pretraining.plan import measured_lines
from albert_tf.pretraining.plan import plan_lines
from albert_tf.pretraining.reporting_flags import report_options
from albert_tf.pretraining.setup import config_from
from albert_tf.pretraining.setup import initial_model
from albert_tf.pretraining.setup import optimizer_from
from albert_tf.pretraining.setup import tokenizer_from
from albert_tf.pretraining.setup import trained_steps
from albert_tf.pretraining.training_info import training_info

_BEST_METRIC = "masked_lm_accuracy"
# What the place in the data depends on.
_DATA_FLAGS = (
    "input_file",
    "max_seq_length",
    "max_predictions_per_seq",
    "masked_lm_prob",
    "train_batch_size",
    "batch_ramp_steps",
    "second_phase_input_file",
    "second_phase_max_seq_length",
    "second_phase_max_predictions_per_seq",
    "second_phase_train_batch_size",
    "random_seed",
)


def pretrain(options):
    """Trains and evaluates as `PretrainingOptions` say.

    Returns:
        The held-out metrics at the end; None without `--do_eval`.

    Raises:
        UserError: a file, flag or checkpoint that does not fit, or divergence.
        SystemExit: the run was asked to stop and has saved its state.
    """
    _check_flags(options)
    phases = plan_phases(options)
    strategy = _strategy(options)
    tokenizer = tokenizer_from(options)
    config = config_from(options, tokenizer, phases)
    data = PretrainingData(options, phases, tokenizer)
    trainer = _trainer(options, strategy, config, phases, data)
    plan = plan_lines(options, config, phases, trainer)
    if options.dry_run:
        print("\n".join([*plan, *measured_lines(trainer, data.stages())]))
        return None
    eval_dataset = data.evaluation()
    if options.do_train:
        logging.info("%s", "\n".join(plan))
        _train(options, tokenizer, trainer, data, eval_dataset)
    return _evaluate(options, trainer, eval_dataset) if options.do_eval else None


def _check_flags(options):
    if not (options.do_train or options.do_eval):
        raise UserError("There is nothing to do: neither --do_train nor --do_eval.")
    if options.init_from_group0 and not options.init_checkpoint:
        raise UserError("--init_from_group0 needs --init_checkpoint.")


def _strategy(options):
    """The devices; the first thing that TensorFlow is asked for."""
    keras.utils.set_random_seed(options.random_seed)
    if options.deterministic:
        tf.config.experimental.enable_op_determinism()
    return strategy_from(options)


def _trainer(options, strategy, config, phases, data):
    sentence_order = data.has_sentence_order()
    with strategy.scope():
        model = initial_model(options, config, sentence_order)
        optimizer = optimizer_from(options)
    data.check(config)
    report = report_options(options, phases, model, strategy)
    trainer = Trainer(
        model,
        PretrainingObjective(sentence_order),
        optimizer,
        strategy,
        _trainer_options(options, report),
    )
    trainer.evaluator = FileEvaluator(trainer.evaluator, data.eval_files)
    return trainer


def _train(options, tokenizer, trainer, data, eval_dataset):
    storage.make_folder(options.output_dir)
    checkpoints = os.path.join(options.output_dir, "checkpoints")

    def save_best(step, results):
        when = [{"step": step, **results}]
        info = training_info(options, step, [*trainer.history, *when])
        save_best_model(trainer.model, checkpoints, step, tokenizer, info)

    try:
        trainer.train(data.stages(), eval_dataset, save_best)
    except UNREADABLE as error:
        raise unreadable(data.input_files, error) from error
    except tf.errors.UnavailableError as error:
        raise UserError(
            "Another worker has ended or cannot be reached; start all of them again: "
            "they go on from the last checkpoint."
        ) from error
    if trainer.writes_outputs:
        info = training_info(options, trainer.step, trainer.history)
        trainer.model.save_pretrained(options.output_dir, tokenizer, info)
        logging.info("Model directory: %s", options.output_dir)


def _evaluate(options, trainer, eval_dataset):
    # Not from the history: a finished run may be evaluated on other data than before.
    step = trainer.step if options.do_train else trained_steps(options)
    results = {**trainer.evaluate(eval_dataset), "global_step": step}
    if trainer.writes_outputs:
        path = os.path.join(options.output_dir, "eval_results.txt")
        write_eval_results(path, results)
    return results


def _trainer_options(options, report):
    return TrainerOptions(
        output_dir=options.output_dir,
        num_train_steps=options.num_train_steps,
        steps_per_loop=options.iterations_per_loop,
        save_checkpoints_steps=options.save_checkpoints_steps,
        keep_checkpoint_max=options.keep_checkpoint_max,
        eval_steps=options.eval_steps,
        best_metric=_BEST_METRIC,
        data={name: getattr(options, name) for name in _DATA_FLAGS},
        restart_data=options.restart_data,
        report=report,
        step=StepOptions(
            gradient_accumulation_steps=options.gradient_accumulation_steps,
            use_xla=options.use_xla,
            seed=options.random_seed,
        ),
    )
