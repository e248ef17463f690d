"""Epochs of fine-tuning with this project, in turns: its engine and its data path.

The setting has task, rows (npz), config, batch_size, max_seq_length, padding
("buckets" or "fixed"), mixed_precision.
"""

import numpy as np
import tensorflow as tf

from albert_tf.config import AlbertConfig
from albert_tf.engine.device_loop import DeviceLoop
from albert_tf.engine.device_loop import Stage
from albert_tf.engine.flags import ExecutionFlags
from albert_tf.engine.flags import TrainerOptions
from albert_tf.engine.strategies import create_strategy
from albert_tf.engine.train_step import TrainStep
from albert_tf.optimizers import create_optimizer
from albert_tf.tasks.batching import FINE_BUCKETS
from albert_tf.tasks.batching import training_dataset
from albert_tf.tasks.registry import create_task
from albert_tf.tasks.tokenized_examples import TokenizedExamples
from benchmarks.measuring import turns


def main(setting):
    """Answers every request with the seconds of an epoch of full batches."""
    strategy = create_strategy("cpu")
    with strategy.scope():
        config = AlbertConfig.from_json_file(setting["config"])
        task = create_task(**setting["task"])
        execution = ExecutionFlags(mixed_precision=setting["mixed_precision"]).execution
        model = task.model_class(config, **task.model_arguments(), **execution)
        optimizer = create_optimizer("adamw", 1e-5, num_train_steps=1_000_000)
        optimizer.build(model.trainable_variables)
        options = TrainerOptions(output_dir="", num_train_steps=1, use_xla=False)
        objective = task.objective()
        step = TrainStep(model, objective, optimizer, options)
    dataset, steps = epoch_of(setting)
    loop = DeviceLoop(step, strategy)
    stage = Stage(dataset, steps)
    stage.begin(objective, model, strategy)

    def take_turn(request):
        return turns.seconds_per_step(lambda: loop.run(stage, steps), 1)

    return take_turn, f"tensorflow {tf.__version__}"


def epoch_of(setting):
    """Returns endless batches of fine-tuning, and how many make an epoch."""
    with np.load(setting["rows"]) as arrays:
        examples = TokenizedExamples(**arrays)
    dataset = training_dataset(
        examples,
        setting["batch_size"],
        setting["max_seq_length"],
        1,
        pad_to_max_length=setting["padding"] == "fixed",
        buckets=FINE_BUCKETS,
    )
    return dataset, len(examples) // setting["batch_size"]
