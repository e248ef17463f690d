"""Our side: the engine's training step on given batches."""

import time

import numpy as np
import tensorflow as tf

from albert_tf.engine.compilation import pretraining_xla
from albert_tf.engine.evaluation import Evaluator
from albert_tf.engine.evaluation import average
from albert_tf.engine.flags import StepOptions
from albert_tf.engine.strategies import create_strategy
from albert_tf.engine.train_step import TrainStep
from albert_tf.models.pretraining import AlbertForPreTraining
from albert_tf.objectives.masked_lm import PretrainingObjective
from albert_tf.optimizers import LAMB
from albert_tf.optimizers import AdamW
from albert_tf.optimizers.schedules import WarmupPolynomialDecay

_KINDS = {"adamw": AdamW, "lamb": LAMB}
_MASKED_LM = "masked_lm_loss"


def train(setting):
    """Trains from a start on batches; see `hugging_face.train`."""
    strategy = create_strategy("auto")
    model = AlbertForPreTraining.from_pretrained(
        setting["start"],
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        dtype="mixed_bfloat16" if setting.get("bfloat16") else "float32",
    )
    objective = PretrainingObjective()
    optimizer = _KINDS[setting["optimizer"]](_rate(setting), bias_correction=True)
    optimizer.build(model.trainable_variables)
    xla = pretraining_xla(strategy, model)
    step = TrainStep(model, objective, optimizer, StepOptions(**xla))
    run = tf.function(step)
    batches = _load(setting["batches"])
    evaluate = _evaluation(setting, model, objective, strategy, xla["use_xla"])
    losses, seconds, held_out = [], [], []
    for i in range(len(batches["input_ids"])):
        began = time.perf_counter()
        sums = run({name: values[i] for name, values in batches.items()}).numpy()
        seconds.append(time.perf_counter() - began)
        losses.append(average(step.metric_names, sums, objective))
        if evaluate and (i + 1) % setting["eval_steps"] == 0:
            held_out.append(evaluate())
            if held_out[-1] <= setting["stop_at"]:
                break
    terms = [f"{term}_loss" for term in objective.loss_terms]
    found = {term: [one[term] for one in losses] for term in terms}
    return {**found, "seconds": seconds, "held_out": held_out}


def _load(path):
    """Loads the arrays of an `.npz`: a dict."""
    with np.load(path) as arrays:
        return dict(arrays)


def _rate(setting):
    rate, steps = setting["learning_rate"], setting.get("num_train_steps")
    if steps is None:
        return rate
    return WarmupPolynomialDecay(rate, steps, setting["num_warmup_steps"])


def _evaluation(setting, model, objective, strategy, use_xla):
    """Returns a function for the held-out masked LM loss; None without such data."""
    if "eval_batches" not in setting:
        return None
    evaluator = Evaluator(model, objective, strategy, use_xla)
    held_out = tf.data.Dataset.from_tensor_slices(_load(setting["eval_batches"]))
    return lambda: evaluator.evaluate(held_out)[_MASKED_LM]
