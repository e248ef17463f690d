"""Our side: the start, the batches, and the engine's training step on them."""

import time

import keras
import numpy as np
import tensorflow as tf

from albert_tf.engine.evaluation import average
from albert_tf.models.pretraining import AlbertForPreTraining
from albert_tf.objectives.masked_lm import PretrainingObjective
from albert_tf.optimizers import LAMB
from albert_tf.optimizers import AdamW
from albert_tf.pretraining.settings import described_lengths
from benchmarks.sides.albert_tf import make_step
from data_pipeline.input_pipeline import pretraining_dataset

_KINDS = {"adamw": AdamW, "lamb": LAMB}


def write_batches(path, input_file, tokenizer, batch_size, count, seed):
    """Writes batches of records as an `.npz` of arrays `[batches, batch, …]`.

    Returns:
        The length of a sequence, in tokens.
    """
    lengths = described_lengths(input_file, None)
    dataset = pretraining_dataset(
        input_file, tokenizer, batch_size, *lengths.values(), seed, training=True
    )
    batches = list(dataset.take(count).as_numpy_iterator())
    names = batches[0]
    np.savez(path, **{name: np.stack([one[name] for one in batches]) for name in names})
    return lengths["max_seq_length"]


def write_start(config, folder, tokenizer, seed):
    """Writes an ALBERT of random weights as a directory of Hugging Face's."""
    keras.utils.set_random_seed(seed)
    AlbertForPreTraining(config).save_pretrained(
        folder, tokenizer, format="huggingface"
    )


def train(setting):
    """Trains from a start on batches; see `hugging_face_curve.train`."""
    model = AlbertForPreTraining.from_pretrained(
        setting["start"],
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    objective = PretrainingObjective()
    optimizer = _KINDS[setting["optimizer"]](
        setting["learning_rate"], bias_correction=True
    )
    step = make_step(model, objective, optimizer)
    run = tf.function(step)
    with np.load(setting["batches"]) as arrays:
        batches = dict(arrays)
    losses, seconds = [], []
    for i in range(len(batches["input_ids"])):
        began = time.perf_counter()
        sums = run({name: values[i] for name, values in batches.items()}).numpy()
        seconds.append(time.perf_counter() - began)
        losses.append(average(step.metric_names, sums, objective))
    terms = [f"{term}_loss" for term in objective.loss_terms]
    found = {term: [one[term] for one in losses] for term in terms}
    return {**found, "seconds": seconds}
