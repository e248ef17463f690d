"""Our side: the engine's training step on given batches."""

import statistics
import time

import numpy as np
import tensorflow as tf

from albert_tf.engine.compilation import pretraining_uses_xla
from albert_tf.engine.evaluation import average
from albert_tf.engine.strategies import create_strategy
from albert_tf.engine.train_step import StepOptions
from albert_tf.engine.train_step import TrainStep
from albert_tf.models.pretraining import AlbertForPreTraining
from albert_tf.optimizers import LAMB
from albert_tf.optimizers import AdamW
from albert_tf.pretraining.objective import PretrainingObjective


def losses(setting):
    """Trains from a start on batches; see `hugging_face.main`."""
    model = AlbertForPreTraining.from_pretrained(
        setting["start"], hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0
    )
    objective = PretrainingObjective()
    kinds = {"adamw": AdamW, "lamb": LAMB}
    optimizer = kinds[setting["optimizer"]](
        setting["learning_rate"], bias_correction=True
    )
    optimizer.build(model.trainable_variables)
    use_xla = pretraining_uses_xla(create_strategy("auto"), model)
    step = TrainStep(model, objective, optimizer, StepOptions(use_xla=use_xla))
    run = tf.function(step)
    batches = np.load(setting["batches"])
    batches = {name: batches[name] for name in batches}
    count = len(next(iter(batches.values())))
    found, times = [], []
    for i in range(count):
        began = time.perf_counter()
        sums = run({name: values[i] for name, values in batches.items()}).numpy()
        times.append(time.perf_counter() - began)
        found.append(average(step.metric_names, sums, objective))
    terms = [f"{term}_loss" for term in objective.loss_terms]
    results = {term: [one[term] for one in found] for term in terms}
    return {**results, "seconds": statistics.median(times)}
