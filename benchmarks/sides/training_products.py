"""The limit of training: the products of a step or an epoch alone, by TensorFlow.

The setting is that of albert_tf.py or, with `rows`, of fine_tuning.py, whose epoch has
batches of several lengths. `read` is as for `training_products`. The product of each
projection and of attention is followed by the two of its gradients; operands lie there.
"""

import collections

import tensorflow as tf

from albert_tf.config import AlbertConfig
from benchmarks.measuring import turns
from benchmarks.measuring.shapes import training_products
from benchmarks.sides.fine_tuning import epoch_of


def main(setting):
    """Answers every request with the seconds of a step, or of an epoch."""
    tf.config.threading.set_intra_op_parallelism_threads(setting["threads"])
    of_what = _of_epoch if "rows" in setting else _of_step
    products, dtype = of_what(setting)
    operands = {shape: _operands(*shape, dtype) for shape in products}

    def compute():
        for shape, count in products.items():
            left, right, upstream = operands[shape]
            for _ in range(count):
                tf.matmul(left, right)
                tf.matmul(upstream, right, transpose_b=True)
                tf.matmul(left, upstream, transpose_a=True)

    def take_turn(_):
        return turns.seconds_per_step(compute, setting.get("steps", 1))

    return take_turn, f"tensorflow {tf.__version__}"


def _of_step(setting):
    config, batch = AlbertConfig.from_dict(setting["config"]), setting["batch"]
    sizes = batch["batch_size"], batch["tokens"]
    predictions = batch["predictions"]
    products = training_products(config, *sizes, 1 + predictions, predictions)
    return products, "bfloat16" if setting["bfloat16"] else "float32"


def _of_epoch(setting):
    config = AlbertConfig.from_json_file(setting["config"])
    dataset, steps = epoch_of(setting)
    products = collections.Counter()
    for batch in dataset.take(steps):
        sizes = batch["input_ids"].shape
        products += training_products(config, *sizes, read=setting["read"])
    return products, setting["mixed_precision"]


def _operands(matrices, m, k, n, dtype):
    """Makes the factors `[matrices, m, k]` and `[matrices, k, n]`, and a gradient."""
    outer = [matrices] if matrices > 1 else []
    return [tf.ones([*outer, *sizes], dtype) for sizes in ((m, k), (k, n), (m, n))]
