"""Fine-tuning a classifier with the training engine."""

import dataclasses
import math
import pathlib

from absl import logging

from albert_tf.engine.flags import strategy_from
from albert_tf.engine.options import Stage
from albert_tf.engine.options import TrainerOptions
from albert_tf.engine.strategies import is_cpu
from albert_tf.engine.strategies import is_tpu
from albert_tf.engine.train_step import StepOptions
from albert_tf.engine.trainer import Trainer
from albert_tf.errors import UserError
from albert_tf.files import read_json_object
from albert_tf.files import write_json
from albert_tf.optimizers import create_optimizer
from albert_tf.optimizers.layer_decay import layer_factors
from albert_tf.pretraining.training_info import versions
from albert_tf.tasks.batching import BUCKETS
from albert_tf.tasks.batching import FINE_BUCKETS
from albert_tf.tasks.batching import training_dataset
from albert_tf.tasks.cache import cached_examples
from albert_tf.tasks.classification.objective import ClassificationObjective
from albert_tf.tasks.classification.setup import initial_model
from albert_tf.tasks.classification.setup import tokenizer_from
from albert_tf.tasks.dev_evaluator import DevEvaluator
from albert_tf.tasks.prediction import LogitsPredictor
from albert_tf.tasks.results import MODEL_DIR

# Flags that may differ between a run and its continuation.
_FREE = (
    "output_dir",
    "do_train",
    "do_eval",
    "do_predict",
    "input_text",
    "input_text_pair",
    "input_file",
    "export_dir",
    "cached_dir",
    "eval_batch_size",
    "predict_batch_size",
    "keep_checkpoint_max",
    "num_runs",
    "tpu_name",
    "tpu_zone",
    "gcp_project",
)


def train(options, source, tables):
    """Fine-tunes on the source's training table; see `ClassifierOptions`.

    `tables` holds the `Table` of `"train"` and of each dev split, by name.

    `model/` in the output directory is the checkpoint with the best dev score. An
    interrupted run continues exactly where it stopped; a finished one does nothing.

    Returns:
        Whether it is this process, of all that train, that writes files.

    Raises:
        UserError: a checkpoint or flag that does not fit, or divergence.
        SystemExit: the run was asked to stop and has saved its state.
    """
    flags = _flags_of_run(options)
    # Before TensorFlow runs anything: workers must be connected first.
    strategy = _strategy(options)
    tokenizer = tokenizer_from(options)
    with strategy.scope():
        model = initial_model(options, source.task, tokenizer)
    model.albert.trainable = not options.freeze_encoder
    tables = {name: tables[name] for name in ("train", *source.dev)}
    train_examples, *dev = tokenized(options, tables, tokenizer, options.max_seq_length)
    trainer = _trainer(options, source.task, model, strategy, len(train_examples))
    save_best = _best_model_saver(options, source.task, tokenizer, model)
    dataset = training_dataset(
        train_examples,
        options.train_batch_size,
        options.max_seq_length,
        options.random_seed,
        options.pad_to_max_length or is_tpu(strategy),
        BUCKETS if trainer.options.step.use_xla else FINE_BUCKETS,
    )
    if trainer.writes_outputs:
        write_json(_flags_path(options), flags)
    stage = Stage(
        dataset, trainer.options.num_train_steps, options.gradient_accumulation_steps
    )
    trainer.train([stage], dict(zip(source.dev, dev, strict=True)), save_best)
    return trainer.writes_outputs


def _strategy(options):
    return strategy_from(
        options.distribution_strategy,
        options.use_tpu,
        options.tpu_name,
        options.tpu_zone,
        options.gcp_project,
    )


def tokenized(options, tables, tokenizer, max_seq_length):
    """The `TokenizedExamples` of each table, cached; reports rows left out."""
    cache_dir = options.cached_dir or pathlib.Path(options.output_dir) / "cache"
    examples = []
    for name, table in tables.items():
        if table.num_skipped:
            logging.warning(
                "%s: %d bad rows left out, %d kept.",
                table.path,
                table.num_skipped,
                len(table),
            )
        examples.append(cached_examples(table, tokenizer, max_seq_length, cache_dir))
        logging.info("%s: %d rows of %s", name, len(table), table.path)
    return examples


def _trainer(options, task, model, strategy, rows):
    steps = options.train_step
    if options.num_train_epochs is not None:
        steps = math.ceil(rows * options.num_train_epochs / options.train_batch_size)
    with strategy.scope():
        optimizer = create_optimizer(
            options.optimizer,
            options.learning_rate,
            steps,
            options.warmup_step,
            learning_rate_factors=layer_factors(model.config, options.layer_decay),
        )
    use_xla = options.use_xla
    if use_xla is None:
        use_xla = not is_cpu(strategy)
    trainer_options = TrainerOptions(
        output_dir=options.output_dir,
        num_train_steps=steps,
        steps_per_loop=options.iterations_per_loop,
        save_checkpoints_steps=options.save_checkpoints_steps,
        keep_checkpoint_max=options.keep_checkpoint_max,
        eval_steps=options.save_checkpoints_steps,
        eval_at_start=False,  # so that the first step does not wait for the dev set
        best_metric=task.metrics[0],
        patience=options.early_stopping_patience,
        step=StepOptions(
            use_xla=use_xla,
            seed=options.random_seed,
        ),
    )
    logits = LogitsPredictor(model, options.eval_batch_size, options.max_seq_length)
    return Trainer(
        model,
        ClassificationObjective(task.kind),
        optimizer,
        strategy,
        trainer_options,
        DevEvaluator(task, logits),
    )


def _best_model_saver(options, task, tokenizer, model):
    def save_best(step, scores):
        info = {
            "task": task.to_dict(),
            "max_seq_length": options.max_seq_length,
            "step": step,
            "dev": scores,
            "init_checkpoint": options.init_checkpoint,
            "random_seed": options.random_seed,
            "versions": versions(),
        }
        model_dir = pathlib.Path(options.output_dir) / MODEL_DIR
        model.save_pretrained(model_dir, tokenizer, info)

    return save_best


def _flags_of_run(options):
    """The flags that decide a run; refuses to go on with one that had others."""
    flags = dataclasses.asdict(options)
    flags = {name: value for name, value in flags.items() if name not in _FREE}
    path, earlier = _flags_path(options), flags
    if path.exists() and (path.parent / "checkpoints").exists():
        earlier = read_json_object(path)
    for name, value in flags.items():
        if earlier.get(name) != value:
            raise UserError(
                f"{options.output_dir} holds a run with --{name}={earlier.get(name)}, "
                f"not {value}; choose another --output_dir, or the same flags."
            )
    return flags


def _flags_path(options):
    return pathlib.Path(options.output_dir) / "flags.json"
