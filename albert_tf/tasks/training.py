"""Fine-tunes any task with the training engine."""

import dataclasses
import math
import os
import pathlib

from absl import logging

from albert_tf.checkpoints.model_directory import read_training_info
from albert_tf.cli.command_line import group_of
from albert_tf.engine.checkpointing import CHECKPOINTS
from albert_tf.engine.compilation import warn_of_slow_bfloat16
from albert_tf.engine.device_loop import Stage
from albert_tf.engine.flags import TrainerFlags
from albert_tf.engine.flags import TrainerOptions
from albert_tf.engine.reporting.reporter import versions
from albert_tf.engine.reporting.summaries import read_history
from albert_tf.engine.resumption import IdentityEntry
from albert_tf.engine.resumption import check_identity
from albert_tf.engine.resumption import flag_identity
from albert_tf.engine.strategies import is_cpu
from albert_tf.engine.strategies import is_tpu
from albert_tf.engine.strategies import writes_outputs
from albert_tf.engine.trainer import Trainer
from albert_tf.errors import UserError
from albert_tf.io.files import read_json_object
from albert_tf.io.whole_folder import finish
from albert_tf.optimizers.rules import layer_decay
from albert_tf.tasks.batching import BUCKETS
from albert_tf.tasks.batching import FINE_BUCKETS
from albert_tf.tasks.batching import training_dataset
from albert_tf.tasks.distillation import taught
from albert_tf.tasks.distillation import with_teacher
from albert_tf.tasks.examples import of_role
from albert_tf.tasks.loading import MODEL_DIR
from albert_tf.tasks.metrics import LOWER_IS_BETTER
from albert_tf.tasks.prediction import DevEvaluator
from albert_tf.tasks.prediction import OutputsPredictor
from albert_tf.tasks.task import Prepared
from albert_tf.tasks.tokenized_examples import cached_tokens

# Version 0.1.0 stored the flags of a run in this file, and none in its checkpoints.
_EARLIER_FLAGS = "flags.json"


class FineTuning:
    """Trains a model for a task with the training engine.

    Args:
        task: the `Task`.
        start: the `Start`.
        flags: the `TrainingFlags`.
    """

    def __init__(self, task, start, flags):
        self._task, self._start, self._flags = task, start, flags

    def run(self, examples, strategy, identity):
        """Trains on the examples with the role "train".

        `model/` in the output directory becomes the checkpoint with the best dev score.
        An interrupted run resumes exactly where it stopped; a finished run does
        nothing.

        Args:
            examples: the `Examples` by name, with the roles "train" and "dev".
            strategy: a `tf.distribute.Strategy`.
            identity: the result of `run_identity`.

        Returns:
            Whether this process writes files.

        Raises:
            UserError: a checkpoint or flag does not fit, the best model was removed, or
                the loss diverged.
            SystemExit: the run was asked to stop and has saved its state.
        """
        task, start, flags = self._task, self._start, self._flags
        if writes_outputs(strategy):
            finish(os.path.join(flags.output_dir, MODEL_DIR))
            _require_best_model(flags.output_dir)
        length, cache = start.flags.max_seq_length, flags.cache_dir
        scored = of_role(examples, "dev")
        with strategy.scope():
            model, tokenizer = start.model(task)
        # Setting True would also train frozen variables such as XLNet's mask_emb.
        if flags.freeze_encoder:
            model.encoder().trainable = False
        train, *dev = (
            prepare(task, name, examples[name], tokenizer, length, cache)
            for name in ("train", *scored)
        )
        train, teacher = taught(
            flags.teacher_bundle, task, train, tokenizer, length, model.config, cache
        )
        own = model_identity(tokenizer, model.config, start.digest)
        identity = (*identity, *own, teacher)
        if start.opened is not None:
            start.opened.release()
        # Epochs count examples, as in the official code; one may have several rows.
        trainer = self._trainer(model, strategy, len(train.examples), identity)
        dataset = training_dataset(
            train.tokens,
            flags.train_batch_size,
            length,
            start.flags.random_seed,
            flags.pad_to_max_length or is_tpu(strategy),
            BUCKETS if trainer.options.use_xla else FINE_BUCKETS,
        )
        stage = Stage(
            dataset, trainer.options.num_train_steps, flags.gradient_accumulation_steps
        )
        dev_sets = dict(zip(scored, dev, strict=True))
        trainer.train([stage], dev_sets, self.saver(model, tokenizer, train.examples))
        if trainer.writes_outputs:
            _require_best_model(flags.output_dir)
        return trainer.writes_outputs

    def _trainer(self, model, strategy, count, identity):
        task, flags, seed = self._task, self._flags, self._start.flags.random_seed
        metric = flags.best_metric or task.metrics[0]
        steps, warmup = _steps(flags, count)
        with strategy.scope():
            optimizer = flags.create(
                steps,
                warmup,
                **layer_decay(model.config, flags.layer_decay, flags.layer_decay_of),
            )
        warn_of_slow_bfloat16(strategy, model.compute_dtype)
        use_xla = flags.use_xla
        if use_xla is None:
            use_xla = not is_cpu(strategy)
        options = TrainerOptions(
            **vars(group_of(TrainerFlags, flags)),
            num_train_steps=steps,
            eval_steps=flags.save_checkpoints_steps,
            eval_at_start=False,  # so that training starts at once
            best_metric=metric,
            lower_is_better=metric in LOWER_IS_BETTER,
            patience=flags.early_stopping_patience,
            identity=identity,
            use_xla=use_xla,
            seed=seed,
        )
        length = self._start.flags.max_seq_length
        outputs = OutputsPredictor(
            model, flags.eval_batch_size, length, task.min_tokens
        )
        evaluator = DevEvaluator(task, outputs)
        objective = task.objective()
        if flags.teacher:
            objective = with_teacher(objective, task, flags)
        return Trainer(model, objective, optimizer, strategy, options, evaluator)

    def saver(self, model, tokenizer, examples):
        """Returns a function of a step and its dev scores that saves the model.

        Args:
            model, tokenizer: what it saves.
            examples: the `Examples` that the model learns from.
        """
        used = versions()  # read before training, after which nothing may fail
        start, directory = self._start, pathlib.Path(self._flags.output_dir)

        def save_best(step, scores):
            info = {
                "task": self._task.to_dict(),
                "max_seq_length": start.flags.max_seq_length,
                "step": step,
                "dev": scores,
                "init_checkpoint": start.opened and start.opened.path,
                "init_digest": start.digest,
                "random_seed": start.flags.random_seed,
                "versions": used,
                **({"split": examples.split} if examples.split else {}),
            }
            model.save_pretrained(directory / MODEL_DIR, tokenizer, info)

        return save_best


def _require_best_model(output_dir):
    """Refuses a run whose best model is gone, since later steps may be worse."""
    output_dir = pathlib.Path(output_dir)
    if read_training_info(output_dir / MODEL_DIR):
        return
    continues = (output_dir / CHECKPOINTS).exists()
    if continues and read_history(output_dir / "history.json"):
        raise UserError(
            f"{output_dir / MODEL_DIR}, the best model of this run, is gone; put it "
            "back, or train again into another --output_dir."
        )


def prepare(task, name, examples, tokenizer, max_seq_length, cache_dir):
    """Tokenizes the examples of a name; logs the number of skipped bad rows."""
    if examples.num_skipped:
        counts = examples.num_skipped, len(examples)
        logging.warning("%s: %d bad rows left out, %d kept.", examples.path, *counts)
    tokens = cached_tokens(task, examples, tokenizer, max_seq_length, cache_dir)
    logging.info("%s: %d rows of %s", name, len(examples), examples.path)
    return Prepared(examples, tokens)


def _steps(flags, count):
    """Counts the steps of the run and of its warm-up, on `count` examples."""
    steps, warmup = flags.train_step, flags.warmup_step
    if flags.num_train_epochs is not None:
        epochs = flags.num_train_epochs
        steps = math.ceil(count * epochs / flags.train_batch_size)
    if flags.warmup_proportion is not None:
        warmup = int(steps * flags.warmup_proportion)
    return steps, warmup


def run_identity(options, examples):
    """Lists the `IdentityEntry`s of a run that are known before its model is built.

    Args:
        options: `TaskOptions`.
        examples: the `Examples` by name; only "train" and "dev" matter.

    Raises:
        UserError: version 0.1.0 began the run, with other flags.
    """
    # Without a flag, the vocabulary determines casing; its fingerprint is an entry.
    lowers = options.do_lower_case is not False
    flags = flag_identity(dataclasses.replace(options, do_lower_case=lowers))
    path = os.path.join(options.output_dir, _EARLIER_FLAGS)
    if os.path.exists(path):
        check_identity(flags, read_json_object(path), options.output_dir)
    files = [
        IdentityEntry(f"examples.{name}", own.digest(), f"The digest of {own.path}")
        for name, own in examples.items()
        if own.role != "test"
    ]
    return (*flags, *files)


def model_identity(tokenizer, config, init_digest):
    """Lists the `IdentityEntry`s of vocabulary, configuration and initial weights."""
    fields = [
        IdentityEntry(f"config.{name}", value, f"{name} of the model's configuration")
        for name, value in config.to_dict().items()
    ]
    fingerprint = IdentityEntry(
        "tokenizer",
        tokenizer.fingerprint(),
        "The vocabulary's fingerprint",
        earlier=tokenizer.earlier_fingerprints(),
    )
    about = "The fingerprint of the weights of --init_checkpoint"
    return (fingerprint, *fields, IdentityEntry("init_weights", init_digest, about))
