"""Pretraining: from TFRecords to a model directory."""

import dataclasses
import os

import keras
import tensorflow as tf
from absl import logging

from albert_tf import bundle
from albert_tf.checkpoints.model_directory import read_training_info
from albert_tf.cli.command_line import group_of
from albert_tf.costs.device_peaks import strategy_peak
from albert_tf.engine.checkpointing import CHECKPOINTS
from albert_tf.engine.compilation import pretraining_xla
from albert_tf.engine.compilation import warn_of_slow_bfloat16
from albert_tf.engine.flags import ReportFlags
from albert_tf.engine.flags import TrainerFlags
from albert_tf.engine.flags import TrainerOptions
from albert_tf.engine.reporting.reporter import versions
from albert_tf.engine.reporting.summaries import write_eval_results
from albert_tf.engine.strategies import strategy_from
from albert_tf.engine.trainer import Trainer
from albert_tf.hub.downloads import shown
from albert_tf.hub.names import with_local_models
from albert_tf.io import storage
from albert_tf.io.folder_lock import folder_lock
from albert_tf.objectives.distillation import DistillationObjective
from albert_tf.optimizers import scaled_learning_rate
from albert_tf.optimizers.rules import RELATIVE_BIASES
from albert_tf.pretraining.by_objective import KINDS
from albert_tf.pretraining.by_objective import load_config
from albert_tf.pretraining.data import PretrainingData
from albert_tf.pretraining.data import naming_unreadable
from albert_tf.pretraining.initial_model import load_teacher
from albert_tf.pretraining.initial_model import load_tokenizer
from albert_tf.pretraining.initial_model import run_identity
from albert_tf.pretraining.plan import measured_lines
from albert_tf.pretraining.plan import plan_lines
from albert_tf.pretraining.plan import steps_of_budget
from data_pipeline.data_set import DataSet

_TERA = 1e12


def pretrain(options):
    """Trains and evaluates a model.

    Args:
        options: the resolved `PretrainingOptions`.

    Returns:
        The final held-out metrics; None without `--do_eval`.

    Raises:
        UserError: a file, flag or checkpoint does not fit, or the loss diverged.
        SystemExit: the run was asked to stop and has saved its state.
    """
    local = with_local_models(options)
    tokenizer, data, trainer = _prepare(local)
    plan = plan_lines(options, trainer, KINDS[options.objective])
    if options.dry_run:
        print("\n".join([*plan, *measured_lines(trainer, data.stages())]))
        return None
    held_out = data.evaluation(on_training_data=options.do_eval)
    if options.do_train:
        logging.info("%s", "\n".join(plan))
        info = training_info(options, data.input_files)
        _train(trainer, data, held_out, tokenizer, info)
    if not options.do_eval:
        return None
    step = trainer.step
    if not options.do_train:
        step = read_training_info(_trained_model(local)).get("step", 0)
    return _evaluate(trainer, held_out, step)


def with_steps(options):
    """Returns resolved `PretrainingOptions` with the number of steps of their budget.

    Raises:
        UserError: the budget is too short.
    """
    if not (options.train_minutes and options.do_train):
        return options

    def make_trainer():
        _, data, trainer = _prepare(with_local_models(options))
        return trainer, data.stages()[0]

    steps = steps_of_budget(options, make_trainer)
    return dataclasses.replace(options, num_train_steps=steps)


def _prepare(options):
    """Returns the tokenizer, the `PretrainingData` and the `Trainer` of a run."""
    keras.utils.set_random_seed(options.random_seed)
    if options.deterministic:
        tf.config.experimental.enable_op_determinism()
    # Devices must be set up before any other use of TensorFlow.
    strategy = strategy_from(options)
    tokenizer = load_tokenizer(options)
    config = load_config(
        options.objective,
        options.albert_config_file,
        tokenizer,
        [phase.max_seq_length for phase in options.phases()],
    )
    data = PretrainingData(options, tokenizer, config.vocab_size)
    return tokenizer, data, _trainer(options, strategy, config, data, tokenizer)


def _trained_model(options):
    """Returns the folder of the model to evaluate without training."""
    return options.init_checkpoint or options.output_dir


def _trainer(options, strategy, config, data, tokenizer):
    kind, start = KINDS[options.objective], None
    objective = kind.objective(data, options)
    terms = objective.terms
    with strategy.scope():
        if not options.do_train:
            model = kind.trained_model(_trained_model(options), options, config)
        else:
            if options.init_checkpoint:
                start = bundle.open(options.init_checkpoint)
            model = kind.initial_model(options, config, terms, start)
        teacher = load_teacher(options, config, tokenizer)
        optimizer = optimizer_of(options)
    if teacher is not None:
        objective = DistillationObjective(terms, teacher, options)
    data.check()
    identity = run_identity(options, config, tokenizer, terms, data, start, teacher)
    if start is not None:
        start.release()
    warn_of_slow_bfloat16(strategy, model.compute_dtype)
    trainer_options = TrainerOptions(
        **vars(group_of(TrainerFlags, options)),
        **vars(group_of(ReportFlags, options)),
        num_train_steps=options.num_train_steps,
        eval_steps=options.eval_steps,
        best_metric=kind.best_metric,
        identity=identity,
        restart_data=options.restart_data,
        seed=options.random_seed,
        **_xla(options, model, strategy),
        evaluated="held out" if options.eval_file else "training data",
        **_speeds(options, model, strategy),
    )
    return Trainer(model, objective, optimizer, strategy, trainer_options)


def optimizer_of(options):
    """Makes the optimizer of `PretrainingOptions`, with its schedule."""
    rate = options.learning_rate
    if options.scale_learning_rate:
        rate = scaled_learning_rate(rate, options.train_batch_size)
    return dataclasses.replace(options, learning_rate=rate).create(
        options.num_train_steps,
        options.num_warmup_steps,
        start_warmup_step=options.start_warmup_step,
        also_excluded=() if options.decay_relative_biases else (RELATIVE_BIASES,),
    )


def _xla(options, model, strategy):
    """Returns the fields of `TrainerOptions` that the flag or the devices decide."""
    if options.use_xla is None:
        return pretraining_xla(strategy, model)
    return {"use_xla": options.use_xla}


def _speeds(options, model, strategy):
    """Makes the `TrainerOptions` fields for reporting device utilization."""
    kind = KINDS[options.objective]
    predictions = dict(phase.lengths for phase in options.phases())

    def flops_per_token(length):
        return kind.training_flops(model, length, predictions[length])

    peak = strategy_peak(strategy, model.compute_dtype)
    if options.peak_teraflops is not None:
        peak = options.peak_teraflops * _TERA * strategy.num_replicas_in_sync
    return {"flops_per_token": flops_per_token, "peak_flops": peak}


def _train(trainer, data, held_out, tokenizer, info):
    """Trains and writes the model directory, with `info` as its `training_info`."""
    output_dir, stages = trainer.options.output_dir, data.stages()
    checkpoints = os.path.join(output_dir, CHECKPOINTS)

    def save_best(step, results):
        when = [{"step": step, **results}]
        best_info = {**info, "step": step, "evaluations": [*trainer.history, *when]}
        save_best_model(trainer.model, checkpoints, step, tokenizer, best_info)

    with naming_unreadable(data.input_files):
        trainer.train(stages, held_out, save_best)
    if trainer.writes_outputs:
        last_info = {**info, "step": trainer.step, "evaluations": trainer.history}
        trainer.model.save_pretrained(output_dir, tokenizer, last_info)
        logging.info("Model directory: %s", output_dir)


def _evaluate(trainer, held_out, step):
    # Not from the history: a finished run may now be evaluated on other data.
    results = {**trainer.evaluate(held_out), "global_step": step}
    if trainer.writes_outputs:
        path = os.path.join(trainer.options.output_dir, "eval_results.txt")
        with folder_lock(trainer.options.output_dir):
            write_eval_results(path, results)
    return results


def save_best_model(model, directory, step, tokenizer, info):
    """Writes the model of a step as `best-<step>`, then removes earlier ones."""
    path = os.path.join(directory, f"best-{step}")
    temporary = f"{path}.tmp"  # The run's lock keeps other processes away.
    storage.remove_folder(temporary)
    model.save_pretrained(temporary, tokenizer, info)
    storage.replace_folder(temporary, path)
    for other in storage.matching(directory, "best-*"):
        if other != path:
            storage.remove_folder(other)


def training_info(options, input_files):
    """Collects data, flags, versions and seed in a dict for JSON.

    This happens before training, after which nothing may fail. Saving a model adds its
    step and the entries of `history.json`.
    """
    return {
        "step": 0,
        "random_seed": options.random_seed,
        "data": DataSet(input_files).descriptions,
        "evaluations": [],
        "options": {
            name: shown(value) if isinstance(value, str) else value
            for name, value in dataclasses.asdict(options).items()
        },
        "versions": versions(),
    }
