"""Compares the memory estimate of `albert-tf describe` with the compiler's figure.

    PYTHONPATH=. python benchmarks/describe_memory.py

Each point is a process of its own that compiles a training step of a base-sized
model for the CPU, and the memory is the peak that XLA allots to it. The benchmark
compares the growth from few layers to many: the activations of the blocks, and the
contribution of each block to the gradients. Measured on 2 CPU cores, TensorFlow 2.21,
in MiB for ten more layers: plain 751 estimated, 726 measured; rematerialised 300 and
271; rematerialised in the loop 300 and 300.
"""

import dataclasses
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from albert_tf.cli import command_line
from albert_tf.config import AlbertConfig
from albert_tf.costs.albert import training_memory

BATCH_SIZE, LENGTH, PREDICTIONS = 4, 256, 20
FEW, MANY = 2, 12
MEBIBYTE = 2**20


def config_with(layers):
    """Returns a base-sized configuration with `layers` layers."""
    return AlbertConfig.released("base_v2", num_hidden_layers=layers)


def measure(layers, options):
    """Returns the peak MiB that XLA allots to a training step with `options`."""
    arguments = [sys.executable, __file__, str(layers), json.dumps(options)]
    with tempfile.TemporaryDirectory() as folder:
        flags = f"--xla_dump_to={folder} --xla_dump_hlo_as_text"
        environment = {**os.environ, "XLA_FLAGS": flags}
        subprocess.run(arguments, check=True, capture_output=True, env=environment)
        (report,) = pathlib.Path(folder).glob("*buffer-assignment.txt")
        (total,) = re.findall(r"Total bytes used: (\d+)", report.read_text())
    return int(total) / MEBIBYTE


def compile_step(layers, options):
    """Compiles a training step; XLA writes down its allocations."""
    import tensorflow as tf

    from albert_tf.models.pretraining import AlbertForPreTraining

    model = AlbertForPreTraining(config_with(layers), **options)
    features = {
        "input_ids": tf.zeros((BATCH_SIZE, LENGTH), tf.int32),
        "masked_lm_positions": tf.zeros((BATCH_SIZE, PREDICTIONS), tf.int32),
    }

    @tf.function(jit_compile=True)
    def step(features):
        with tf.GradientTape() as tape:
            outputs = model(features, training=True, dropout_seed=tf.constant([1, 2]))
            loss = tf.reduce_mean(outputs["masked_lm_logits"] ** 2)
            loss += tf.reduce_mean(outputs["sentence_order_logits"] ** 2)
        variables = [v.value for v in model.trainable_variables]
        return [tf.convert_to_tensor(g) for g in tape.gradient(loss, variables)]

    step.experimental_get_compiler_ir(features)(stage="optimized_hlo")


@dataclasses.dataclass(frozen=True)
class Options:
    """The flags of the benchmark, which has none of its own."""


def compare(options):
    """Prints one line for each way of computing the depth."""
    print(f"{'growth in MiB':40}{'estimated':>12}{'measured':>12}")
    for way in (
        {},
        {"rematerialize": True},
        {"rematerialize": True, "depth_loop": True},
    ):
        few, many = (
            training_memory(
                config_with(layers),
                BATCH_SIZE,
                LENGTH,
                PREDICTIONS,
                way.get("rematerialize", False),
            )
            for layers in (FEW, MANY)
        )
        estimated = (sum(many.values()) - sum(few.values())) / MEBIBYTE
        measured = measure(MANY, way) - measure(FEW, way)
        name = " ".join(way) or "plain"
        print(f"{name:40}{estimated:12.0f}{measured:12.0f}", flush=True)


if __name__ == "__main__":
    if len(sys.argv) == 3:
        compile_step(int(sys.argv[1]), json.loads(sys.argv[2]))
    else:
        command_line.run(Options, compare)
