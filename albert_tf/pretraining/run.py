"""Pretraining: from TFRecords to a model directory."""

import dataclasses
import os

import keras
import tensorflow as tf
from absl import logging

from albert_tf.checkpoints.model_directory import read_training_info
from albert_tf.costs.device_peaks import strategy_peak
from albert_tf.engine.checkpointing import CHECKPOINTS
from albert_tf.engine.compilation import pretraining_xla
from albert_tf.engine.compilation import warn_of_slow_bfloat16
from albert_tf.engine.flags import StepOptions
from albert_tf.engine.reporting.reporter import versions
from albert_tf.engine.reporting.summaries import write_eval_results
from albert_tf.engine.resumption import teacher_fact
from albert_tf.engine.strategies import strategy_from
from albert_tf.engine.trainer import Trainer
from albert_tf.io import storage
from albert_tf.io.folder_lock import folder_lock
from albert_tf.objectives.distillation import DistillationObjective
from albert_tf.pretraining.by_objective import KINDS
from albert_tf.pretraining.by_objective import load_config
from albert_tf.pretraining.data import PretrainingData
from albert_tf.pretraining.data import naming_unreadable
from albert_tf.pretraining.initial_model import load_teacher
from albert_tf.pretraining.initial_model import load_tokenizer
from albert_tf.pretraining.initial_model import named_facts
from albert_tf.pretraining.plan import measured_lines
from albert_tf.pretraining.plan import plan_lines
from albert_tf.pretraining.plan import steps_of_budget
from albert_tf.pretraining.settings import resolve
from data_pipeline.data_set import DataSet

_TERA = 1e12


def pretrain(settings):
    """Trains and evaluates as `Settings` say.

    Returns:
        The held-out metrics at the end; None without `--do_eval`.

    Raises:
        UserError: a file, flag or checkpoint that does not fit, or divergence.
        SystemExit: the run was asked to stop and has saved its state.
    """
    tokenizer, data, trainer = _prepare(settings)
    kind, phases = KINDS[settings.data.objective], settings.data.phases()
    plan = plan_lines(settings.optimizer, phases, trainer, kind)
    if settings.run.dry_run:
        print("\n".join([*plan, *measured_lines(trainer, data.stages())]))
        return None
    held_out = data.evaluation(on_training_data=settings.run.do_eval)
    if settings.run.do_train:
        logging.info("%s", "\n".join(plan))
        info = training_info(settings.flags, data.input_files)
        _train(trainer, data, held_out, tokenizer, info)
    if not settings.run.do_eval:
        return None
    trained = _trained_model(settings)
    step = read_training_info(trained).get("step", 0) if trained else trainer.step
    return _evaluate(trainer, held_out, step)


def settings_of(options):
    """Returns the `Settings` of `PretrainingOptions`, with the steps of its minutes.

    Raises:
        UserError: flags that do not fit each other, or minutes that are too few.
    """
    settings = resolve(options)
    if not (options.train_minutes and options.do_train):
        return settings

    def make_trainer():
        _, data, trainer = _prepare(settings)
        return trainer, data.stages()[0]

    return resolve(options, steps_of_budget(options, make_trainer))


def _prepare(settings):
    """Returns the tokenizer, the `PretrainingData` and the `Trainer` of a run."""
    # The devices are the first thing that TensorFlow is asked for.
    strategy = _strategy(settings)
    tokenizer = load_tokenizer(settings.model)
    config = load_config(
        settings.data.objective,
        settings.model.albert_config_file,
        tokenizer,
        [phase.lengths[0] for phase in settings.data.phases()],
    )
    data = PretrainingData(settings.data, tokenizer, config.vocab_size)
    trainer = _trainer(settings, strategy, config, data, tokenizer)
    return tokenizer, data, trainer


def _strategy(settings):
    """Sets up the devices, and makes their numbers repeatable."""
    keras.utils.set_random_seed(settings.data.random_seed)
    if settings.run.deterministic:
        tf.config.experimental.enable_op_determinism()
    return strategy_from(settings.devices)


def _trained_model(settings):
    """Loads the model that a run only evaluates; None for a run that trains."""
    if settings.run.do_train:
        return None
    return settings.model.init_checkpoint or settings.trainer.output_dir


def _trainer(settings, strategy, config, data, tokenizer):
    kind, phases = KINDS[settings.data.objective], settings.data.phases()
    terms = kind.terms(data)
    with strategy.scope():
        if trained := _trained_model(settings):
            model = kind.trained_model(trained, settings.model, config)
        else:
            model = kind.initial_model(settings.model, config, terms)
        teacher = load_teacher(settings.model, config, tokenizer, phases)
        optimizer = settings.optimizer.create_scheduled()
    data.check()
    config_file, digest = settings.model.albert_config_file, data.digest()
    facts = named_facts(config_file, config, tokenizer, terms, phases, digest)
    warn_of_slow_bfloat16(strategy, model.compute_dtype)
    trainer_options = dataclasses.replace(
        settings.trainer,
        step=_step_options(settings, model, strategy),
        facts=(*settings.trainer.facts, *facts, teacher_fact(teacher)),
        **_report(settings, model, strategy),
    )
    objective = kind.objective(terms, settings.model)
    if teacher is not None:
        objective = DistillationObjective(terms, teacher, settings.model)
    return Trainer(model, objective, optimizer, strategy, trainer_options)


def _step_options(settings, model, strategy):
    """Makes the `StepOptions`, with XLA where the flag or the devices say so."""
    xla = {"use_xla": settings.run.use_xla}
    if settings.run.use_xla is None:
        xla = pretraining_xla(strategy, model)
    return StepOptions(**xla, seed=settings.data.random_seed)


def _report(settings, model, strategy):
    """Makes the fields of `TrainerOptions` for reports, by the model and devices."""
    kind, phases = KINDS[settings.data.objective], settings.data.phases()
    predictions = dict(phase.lengths for phase in phases)

    def flops_per_token(length):
        return kind.training_flops(model, length, predictions[length])

    peak = strategy_peak(strategy, model.compute_dtype)
    if (teraflops := settings.trainer.peak_teraflops) is not None:
        peak = teraflops * _TERA * strategy.num_replicas_in_sync
    return {
        "flops_per_token": flops_per_token,
        "peak_flops": peak,
        "evaluated": "held out" if settings.data.eval_file else "training data",
    }


def _train(trainer, data, held_out, tokenizer, info):
    """Trains and writes the model directory, with the `training_info` `info`."""
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
    # Not from the history: a finished run may be evaluated on other data than before.
    results = {**trainer.evaluate(held_out), "global_step": step}
    if trainer.writes_outputs:
        path = os.path.join(trainer.options.output_dir, "eval_results.txt")
        with folder_lock(trainer.options.output_dir):
            write_eval_results(path, results)
    return results


def save_best_model(model, directory, step, tokenizer, info):
    """Writes `best-<step>` into a directory, and then removes earlier ones.

    Args:
        model, tokenizer: to save.
        directory: of the run.
        step: of the model.
        info: a dict for its `training_info.json`.
    """
    path = os.path.join(directory, f"best-{step}")
    temporary = f"{path}.tmp"  # The run's lock keeps others away.
    storage.remove_folder(temporary)
    model.save_pretrained(temporary, tokenizer, info)
    storage.replace_folder(temporary, path)
    for other in storage.matching(directory, "best-*"):
        if other != path:
            storage.remove_folder(other)


def training_info(flags, input_files):
    """Collects data, flags, versions and seed, as a dict for JSON.

    All of it is read before training, after which nothing may fail. The step of a
    model and the entries of `history.json` come to it when that is saved.

    Args:
        flags: the resolved ones, by name.
        input_files: of the data.
    """
    return {
        "step": 0,
        "random_seed": flags["random_seed"],
        "data": DataSet(input_files).descriptions,
        "evaluations": [],
        "options": flags,
        "versions": versions(),
    }
