"""Inference with this project's models, in turns.

The setting has rows (by task an npz), config, batch_size, longest, mask_id and
vocab_size.
"""

import numpy as np
import tensorflow as tf

import albert_tf
from albert_tf.inference.masked_words import best_tokens_of_masks
from albert_tf.models.text_embedding import text_vectors
from albert_tf.tasks.prediction import OutputsPredictor
from albert_tf.tasks.tokenized_examples import TokenizedExamples
from benchmarks.measuring import turns

_BEST = 5  # words for a mask


def main(setting):
    """Answers the name of a task with the seconds of a pass over its rows."""
    runs = {
        task: run(compute(task, setting), path, setting)
        for task, path in setting["rows"].items()
    }
    details = f"tensorflow {tf.__version__}"
    return lambda task: turns.seconds_per_step(runs[task], 1), details


def compute(task, setting):
    """Returns a model of a task, or a function of its features."""
    config = albert_tf.AlbertConfig.from_json_file(setting["config"])
    if task == "multiple_choice":
        return albert_tf.AlbertForMultipleChoice(config)
    if task == "masked_words":
        model = albert_tf.AlbertForMaskedLM(config)
        ids = setting["mask_id"], setting["vocab_size"]
        return best_tokens_of_masks(model, *ids, _BEST)
    model = albert_tf.AlbertModel(config)

    def vectors(features, training):
        encoded = model(features, training=training)
        return text_vectors(encoded, features["input_mask"], "mean")

    return vectors


def run(outputs_of, path, setting):
    """Returns a function that computes all rows of a task, in batches by length."""
    with np.load(path) as arrays:
        examples = TokenizedExamples(**arrays)
    predict = OutputsPredictor(outputs_of, setting["batch_size"], setting["longest"])
    return lambda: predict(examples)
