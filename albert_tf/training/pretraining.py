"""Pretraining: from TFRecords to a model directory."""

import os

import keras
import tensorflow as tf
from absl import logging

from albert_tf.training.best import save_best_model
from albert_tf.training.device_flags import strategy_from
from albert_tf.training.phases import plan_phases
from albert_tf.training.pretraining_data import PretrainingData
from albert_tf.training.pretraining_data import unreadable
from albert_tf.training.pretraining_objective import PretrainingObjective
from albert_tf.training.pretraining_plan import measured_lines
from albert_tf.training.pretraining_plan import plan_lines
from albert_tf.training.pretraining_start import config_from
from albert_tf.training.pretraining_start import initial_model
from albert_tf.training.pretraining_start import optimizer_from
from albert_tf.training.pretraining_start import tokenizer_from
from albert_tf.training.replica_step import StepOptions
from albert_tf.training.reporting_flags import report_options
from albert_tf.training.run_info import run_info
from albert_tf.training.summaries import write_eval_results
from albert_tf.training.trainer import Trainer
from albert_tf.training.trainer import TrainerOptions

# What an entry of the history holds besides the metrics.
_WHEN = ("step", "train_seconds")
_BEST_METRIC = "masked_lm_accuracy"


def pretrain(options):
    """Trains and evaluates as `PretrainingOptions` say.

    Returns:
        The held-out metrics at the end; None without `--do_eval`.

    Raises:
        UserError: a file, flag or checkpoint that does not fit, or divergence.
        SystemExit: the run was asked to stop and has saved its state.
    """
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
    return Trainer(
        model,
        PretrainingObjective(sentence_order),
        optimizer,
        strategy,
        _trainer_options(options, report),
    )


def _train(options, tokenizer, trainer, data, eval_dataset):
    os.makedirs(options.output_dir, exist_ok=True)
    checkpoints = os.path.join(options.output_dir, "checkpoints")

    def save_best(step, results):
        when = [{"step": step, **results}]
        info = run_info(options, step, [*trainer.history, *when])
        save_best_model(trainer.model, checkpoints, step, tokenizer, info)

    try:
        trainer.train(data.stages(), eval_dataset, save_best)
    except tf.errors.DataLossError as error:
        raise unreadable(data.input_files, error) from error
    if trainer.writes_outputs:
        info = run_info(options, trainer.step, trainer.history)
        trainer.model.save_pretrained(options.output_dir, tokenizer, info)
        logging.info("Model directory: %s", options.output_dir)


def _evaluate(options, trainer, eval_dataset):
    if options.do_train:
        # Training has ended with an evaluation at this very step.
        results = {k: v for k, v in trainer.history[-1].items() if k not in _WHEN}
    else:
        results = trainer.evaluator.evaluate(eval_dataset)
    results["global_step"] = trainer.step
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
        report=report,
        step=StepOptions(
            gradient_accumulation_steps=options.gradient_accumulation_steps,
            use_xla=options.use_xla,
            seed=options.random_seed,
        ),
    )
