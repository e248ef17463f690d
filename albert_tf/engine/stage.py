"""A part of a run: what it reads, how long, and in how many micro-batches."""

import dataclasses

import tensorflow as tf


@dataclasses.dataclass(frozen=True)
class Stage:
    """Steps that all have batches of one shape.

    A run is one stage or several, one after the other, with one optimizer and one
    schedule over all: short sequences before long ones, small batches before large.
    """

    dataset: tf.data.Dataset
    """Endless batches of the global batch size, with a checkpointable iterator."""
    last_step: int
    """The step, counted from the start of the run, at which the stage ends."""
    gradient_accumulation_steps: int = 1
    """Micro-batches that a replica's rows are split into."""

    @property
    def batch_size(self):
        """Rows of a batch over all replicas."""
        return tf.nest.flatten(self.dataset.element_spec)[0].shape[0]
