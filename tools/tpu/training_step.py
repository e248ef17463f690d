"""The replica step of pretraining as one program."""

import tensorflow as tf

from albert_tf.engine.flags import TrainerOptions
from albert_tf.engine.train_step import TrainStep
from albert_tf.models.pretraining import AlbertForPreTraining
from albert_tf.objectives.masked_lm import PretrainingObjective
from albert_tf.optimizers import create_optimizer


class TrainingStep:
    """Computation of one device in a step of pretraining.

    As on a TPU, forward, backward, clipping, update and assignment are one program,
    and the weights are updated in place.

    Args:
        config: an `AlbertConfig`.
        optimizer: a name for `create_optimizer`.
        dtype: dtype policy, such as "float32" or "mixed_bfloat16".
        **execution: `depth_loop` and `rematerialize`, see `AlbertModel`.

    Attributes:
        model: the `AlbertForPreTraining`.
        function: the compiled `tf.function` of a batch.
    """

    def __init__(self, config, optimizer="lamb", dtype="float32", **execution):
        self._strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
        with self._strategy.scope():
            self.model = AlbertForPreTraining(config, dtype=dtype, **execution)
            # Neither rate nor length changes the program.
            optimizer = create_optimizer(optimizer, 1e-3, 1000, 100)
            optimizer.build(self.model.trainable_variables)
            self._step = TrainStep(
                self.model,
                PretrainingObjective(),
                optimizer,
                TrainerOptions(output_dir="", num_train_steps=1),
            )
        self.function = tf.function(self._run, jit_compile=True, autograph=False)

    def _run(self, batch):
        return self._strategy.run(self._step, (batch,))

    def lowered(self, batch_size, max_seq_length, max_predictions_per_seq):
        """Returns the program for batches of these sizes, a serialised HLO module."""
        batch = sample_batch(batch_size, max_seq_length, max_predictions_per_seq)
        return self.function.experimental_get_compiler_ir(batch)(stage="hlo_serialized")


def sample_batch(rows, tokens, predictions):
    """Makes a batch of these sizes as the input pipeline makes them, with ids 0."""
    return {
        "input_ids": tf.zeros([rows, tokens], tf.int32),
        "input_mask": tf.ones([rows, tokens], tf.int32),
        "segment_ids": tf.zeros([rows, tokens], tf.int32),
        "masked_lm_positions": tf.zeros([rows, predictions], tf.int32),
        "masked_lm_ids": tf.zeros([rows, predictions], tf.int32),
        "masked_lm_weights": tf.ones([rows, predictions]),
        "sentence_order_labels": tf.zeros([rows], tf.int32),
    }
