"""A tiny pretraining set-up."""

import shutil

import keras
import numpy as np
import pytest
import tensorflow as tf

from albert_tf.config import AlbertConfig
from albert_tf.engine.flags import TrainerOptions
from albert_tf.engine.trainer import Trainer
from albert_tf.models.pretraining import AlbertForPreTraining
from albert_tf.objectives.base import EXAMPLE_WEIGHTS
from albert_tf.objectives.base import Objective
from albert_tf.objectives.masked_lm import OBJECTIVES
from albert_tf.objectives.masked_lm import PretrainingObjective
from albert_tf.optimizers import create_optimizer

TOKENS, PREDICTIONS, VOCABULARY = 7, 3, 23


@pytest.fixture
def rows():
    """Sixteen sequences with 0 to 3 masked tokens each."""
    random = np.random.default_rng(0)
    masked = random.integers(0, PREDICTIONS + 1, (16, 1))
    ranges = {
        "input_ids": (VOCABULARY, (16, TOKENS)),
        "segment_ids": (2, (16, TOKENS)),
        "masked_lm_positions": (TOKENS, (16, PREDICTIONS)),
        "masked_lm_ids": (VOCABULARY, (16, PREDICTIONS)),
        "sentence_order_labels": (2, 16),
    }
    return {
        **{k: random.integers(0, *r, dtype=np.int32) for k, r in ranges.items()},
        "input_mask": np.ones((16, TOKENS), np.int32),
        "masked_lm_weights": (np.arange(PREDICTIONS) < masked).astype(np.float32),
    }


@pytest.fixture
def batches(rows):
    """Makes endless shuffled batches of 8, in the order of a new process.

    A second iterator of the same tf.data.Dataset would shuffle on from the first.
    """

    def make():
        tf.random.set_seed(0)
        dataset = tf.data.Dataset.from_tensor_slices(rows).shuffle(16, seed=1)
        return dataset.repeat().batch(8, drop_remainder=True)

    return make


@pytest.fixture
def good_and_bad(rows):
    """Endless batches of all rows, and the same with losses that are not finite."""
    return [
        tf.data.Dataset.from_tensors(
            {**rows, EXAMPLE_WEIGHTS: np.full(16, weight, np.float32)}
        ).repeat()
        for weight in (1.0, np.inf)
    ]


def dense(units, inputs, optimizer):
    """Builds a dense layer whose weights are ones, and an optimizer for it."""
    layer = keras.layers.Dense(units, kernel_initializer="ones")
    layer.build((None, inputs))
    optimizer.build(layer.trainable_variables)
    return layer, optimizer


class SquaredError(Objective):
    """The error of a number that a linear model predicts from the ids of a row."""

    loss_terms = ("square",)

    def __init__(self):
        """There are no terms."""

    def denominators(self, batch):
        return {"square": tf.reduce_sum(self._weights(batch))}

    def _weights(self, batch):
        rows = tf.shape(batch["input_ids"])[0]
        return batch.get(EXAMPLE_WEIGHTS, tf.ones([rows]))

    def __call__(self, model, batch, training, dropout_seed):
        missing = TOKENS - batch["input_ids"].shape[1]
        inputs = tf.pad(batch["input_ids"], [[0, 0], [0, missing]])
        inputs = tf.cast(inputs, tf.float32) / VOCABULARY
        labels = tf.cast(batch["sentence_order_labels"], tf.float32)
        squares = tf.square(model(inputs)[:, 0] - labels)
        return {"square": tf.reduce_sum(self._weights(batch) * squares)}, {}


@pytest.fixture
def make_linear_trainer(tmp_path):
    """Builds a trainer of a linear model, for what any model's run does.

    Its step is traced in a tenth of the time of a transformer's.
    """

    def make(
        steps,
        directory="run",
        evaluator=None,
        make_optimizer=lambda: create_optimizer("adamw", 0.05, 100, 2),
        **options,
    ):
        strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
        with strategy.scope():
            layer = keras.layers.Dense(1, kernel_initializer="ones")
            layer.build((None, TOKENS))
            optimizer = make_optimizer()
        settings = trainer_options(tmp_path / directory, steps, **options)
        return Trainer(layer, SquaredError(), optimizer, strategy, settings, evaluator)

    return make


def trainer_options(directory, steps, **options):
    named = {"output_dir": str(directory), "num_train_steps": steps}
    settings = {"iterations_per_loop": 2, "save_checkpoints_steps": 100}
    # XLA takes seconds to compile; that it changes nothing is tested by itself.
    return TrainerOptions(**{**named, **settings, "use_xla": False, **options})


@pytest.fixture
def make_trainer(tmp_path):
    """Builds a trainer with the same initial weights each time."""

    def make(
        steps,
        strategy=None,
        dropout=0.0,
        directory="run",
        dtype="float32",
        evaluator=None,
        hidden_size=6,
        make_optimizer=lambda: create_optimizer("lamb", 0.05, 100, 2),
        objective="sop",
        **options,
    ):
        strategy = strategy or tf.distribute.OneDeviceStrategy("/cpu:0")
        sizes = {
            "embedding_size": 4,
            "intermediate_size": 8,
            "num_hidden_layers": 1,
            "num_attention_heads": 2,
            "max_position_embeddings": TOKENS,
            "hidden_size": hidden_size,
            "initializer_range": 0.3,
        }
        config = AlbertConfig(VOCABULARY, **sizes).with_dropout(dropout)
        keras.utils.set_random_seed(3)
        with strategy.scope():
            model = AlbertForPreTraining(config, dtype=dtype)
            optimizer = make_optimizer()
        settings = trainer_options(tmp_path / directory, steps, **options)
        terms = PretrainingObjective(OBJECTIVES[objective])
        return Trainer(model, terms, optimizer, strategy, settings, evaluator)

    return make


@pytest.fixture
def take_step():
    """Trains one step on rows; returns the `(sum, weight)` of its metrics, by name."""

    def take(trainer, rows):
        batch = {name: tf.constant(value) for name, value in rows.items()}
        step = tf.function(lambda: trainer.strategy.run(trainer._train_step, (batch,)))
        return dict(zip(trainer._train_step.metric_names, step().numpy(), strict=True))

    return take


@pytest.fixture
def killed_after(tmp_path):
    """Copies the checkpoint of a step: as if another run had ended with it."""

    def copy(step, directory, other):
        folder = tmp_path / other / "checkpoints"
        folder.mkdir(parents=True)
        for path in (tmp_path / directory / "checkpoints").glob(f"training-{step}.*"):
            shutil.copy(path, folder)

    return copy


@pytest.fixture
def weights():
    """Reads all weights of a trainer's model, by official name."""

    def read(trainer):
        variables = trainer.model.official_variables()
        return {name: variable.numpy() for name, variable in variables.items()}

    return read
