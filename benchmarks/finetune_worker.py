"""Fine-tuning with this project; `benchmarks/finetune_epoch.py` starts it.

Arguments: rows.npz, configuration (JSON), batch size, length, "buckets" or "fixed".
It is the engine of run_classifier with its data path. For each line on standard input
it trains one epoch and prints its seconds.
"""

import sys
import tempfile

import numpy as np

from albert_tf.config import AlbertConfig
from albert_tf.models.sequence_classification import AlbertForSequenceClassification
from albert_tf.optimizers import create_optimizer
from albert_tf.tasks.classification_objective import ClassificationObjective
from albert_tf.tasks.datasets import FINE_BUCKETS
from albert_tf.tasks.datasets import training_dataset
from albert_tf.tasks.tokenized_examples import TokenizedExamples
from albert_tf.training.replica_step import StepOptions
from albert_tf.training.strategy import create_strategy
from albert_tf.training.trainer import Trainer
from albert_tf.training.trainer import TrainerOptions

_MANY = 1_000_000


def main(rows_path, config_path, batch_size, max_seq_length, padding):
    with np.load(rows_path) as arrays:
        examples = TokenizedExamples(**arrays)
    batch_size, length = int(batch_size), int(max_seq_length)
    strategy = create_strategy("cpu")
    with strategy.scope():
        config = AlbertConfig.from_json_file(config_path)
        model = AlbertForSequenceClassification(config, 2)
        optimizer = create_optimizer("adamw", 1e-5, _MANY)
    with tempfile.TemporaryDirectory() as folder:
        trainer_options = TrainerOptions(
            folder,
            _MANY,
            steps_per_loop=len(examples) // batch_size,
            step=StepOptions(use_xla=False),
        )
        objective = ClassificationObjective("single_label")
        trainer = Trainer(model, objective, optimizer, strategy, trainer_options)
        trainer.reporter.before_loop = _wait
        trainer.reporter.after_loop = _report
        dataset = training_dataset(
            examples,
            batch_size,
            length,
            1,
            pad_to_max_length=padding == "fixed",
            buckets=FINE_BUCKETS,
        )
        trainer.train(dataset)


def _wait(step):
    if not sys.stdin.readline():
        raise SystemExit(0)


def _report(step, count, seconds, results, sizes):
    print(seconds, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
