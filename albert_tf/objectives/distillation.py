"""Distillation in pretraining: from a teacher's masked LM and its hidden states."""

import dataclasses

import tensorflow as tf

from albert_tf.layers.exits import two_sided
from albert_tf.objectives.base import LossTerm
from albert_tf.objectives.base import example_weights
from albert_tf.objectives.masked_lm import MASKED_LM
from albert_tf.objectives.masked_lm import PretrainingObjective
from data_pipeline.records.schema import model_inputs

_TEACHER = "teacher"
_LAYERS = "hidden_states"


def softmax_distances(logits, teacher, temperature):
    """Computes the KL divergence of two softened distributions over the last axis.

    `T² KL(softmax(teacher / T) || softmax(logits / T))` (Hinton et al., arXiv
    1503.02531, section 2), where T is the temperature. The factor T² makes the scale
    of gradients independent of T. Maps float32 `[…, classes]` to `[…]`.
    """
    own = tf.nn.log_softmax(logits / temperature)
    target = tf.nn.log_softmax(teacher / temperature)
    return temperature**2 * tf.reduce_sum(tf.exp(target) * (target - own), axis=-1)


def sigmoid_distances(logits, teacher, temperature):
    """Computes binary `softmax_distances` for each logit: float32 `[…]`."""
    return softmax_distances(two_sided(logits), two_sided(teacher), temperature)


class TeacherWords(LossTerm):
    """Divergence of the model's masked-token distributions from the teacher's."""

    name = "teacher"
    epsilon = MASKED_LM.epsilon

    def __init__(self, flags):
        self.scale = flags.teacher_weight
        self._temperature = flags.teacher_temperature

    def weights(self, batch):
        return MASKED_LM.weights(batch)

    def sums(self, outputs, batch):
        own, teacher = (
            tf.cast(logits, tf.float32)
            for logits in (outputs["masked_lm_logits"], outputs[_TEACHER]["words"])
        )
        distances = softmax_distances(own, teacher, self._temperature)  # [B, P]
        return tf.reduce_sum(distances * self.weights(batch)), {}


class TeacherLayers(LossTerm):
    """Mean squared difference of paired hidden states, over tokens and layers."""

    name = "teacher_layers"

    def __init__(self, flags):
        self.scale = flags.teacher_layers_weight
        self._pairs = flags.layer_pairs()

    def weights(self, batch):
        rows = example_weights(batch)
        return tf.cast(batch["input_mask"], tf.float32) * rows[:, None]  # [B, T]

    def sums(self, outputs, batch):
        distances = [
            tf.reduce_mean(
                tf.square(
                    tf.cast(outputs[_LAYERS][own], tf.float32)
                    - tf.cast(outputs[_TEACHER][_LAYERS][theirs], tf.float32)
                ),
                axis=-1,
            )
            for own, theirs in self._pairs
        ]
        mean = tf.add_n(distances) / len(distances)  # [B, T]
        return tf.reduce_sum(mean * self.weights(batch)), {}


class DistillationObjective(PretrainingObjective):
    """The pretraining terms, plus terms that compare the model with a teacher.

    Args:
        terms: the `HeadTerm`s; the masked LM term yields a share of `teacher_weight`
            to the teacher term.
        teacher: the `AlbertForPreTraining`.
        flags: `LayersFlags`.
    """

    def __init__(self, terms, teacher, flags):
        share = 1 - flags.teacher_weight
        own = [
            dataclasses.replace(term, scale=share) if term == MASKED_LM else term
            for term in terms
        ]
        layers = [TeacherLayers(flags)] if flags.layer_pairs() else []
        super().__init__([*own, TeacherWords(flags), *layers])
        self._teacher = teacher
        # Without layer pairs, student and teacher compute only what the heads need.
        self._whole = {"heads_only": not layers, "hidden_states": bool(layers)}

    def outputs(self, model, batch, training, dropout_seed):
        inputs = model_inputs(batch)
        outputs = model(
            inputs, training=training, dropout_seed=dropout_seed, **self._whole
        )
        taught = self._teacher(inputs, training=False, **self._whole)
        taught = {
            "words": taught["masked_lm_logits"],
            _LAYERS: taught.get(_LAYERS, []),
        }
        return {**outputs, _TEACHER: tf.nest.map_structure(tf.stop_gradient, taught)}
