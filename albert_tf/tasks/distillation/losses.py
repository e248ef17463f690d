"""The loss of a student: of its labels, and of the distance to its teacher."""

import copy

import tensorflow as tf

from albert_tf.objectives.base import LossTerm
from albert_tf.objectives.base import Objective
from albert_tf.tasks.batching import TEACHER_LOGITS


class TeacherTerm(LossTerm):
    """The distance to the teacher, with the weights of the labels' loss.

    Args:
        task: the `Task`.
        of_labels: the `LossTerm` of the labels.
        temperature: see `Task.distances`.
        scale: of the term.
    """

    name = "teacher"

    def __init__(self, task, of_labels, temperature, scale):
        self._task, self._temperature = task, temperature
        self.weights = of_labels.weights
        self.epsilon = of_labels.epsilon
        self.scale = scale

    def sums(self, outputs, batch):
        task, teacher = self._task, batch[TEACHER_LOGITS]
        early = task.early_exit is not None
        layers = tf.unstack(outputs, axis=1) if early else [outputs]
        distances = [
            task.distances(task.distilled(own), teacher, self._temperature)
            for own in layers
        ]
        # Layers weigh as in `ExitsTerm`.
        depth = tf.range(1.0, len(layers) + 1)
        distances = tf.tensordot(depth / tf.reduce_sum(depth), tf.stack(distances), 1)
        return tf.reduce_sum(distances * self.weights(batch)), {}


def with_teacher(objective, task, flags):
    """Returns the objective of a student.

    Args:
        objective: the task's `Objective`, of terms.
        task: the `Task`.
        flags: `DistillationFlags`.
    """
    found, terms = copy.copy(objective), []
    for term in map(copy.copy, objective.terms):
        term.scale *= 1 - flags.teacher_weight
        terms.append(term)
    teacher = TeacherTerm(
        task, terms[0], flags.teacher_temperature, flags.teacher_weight
    )
    Objective.__init__(found, [*terms, teacher])
    found.compared = (*objective.compared, TEACHER_LOGITS)
    return found
