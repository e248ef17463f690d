"""Distillation: a student learns from the outputs of a fine-tuned teacher.

The teacher's outputs on the training rows are computed once and cached.
"""

import copy
import dataclasses

import numpy as np
import tensorflow as tf
from absl import logging

from albert_tf.engine.resumption import teacher_identity
from albert_tf.errors import UserError
from albert_tf.objectives.base import LossTerm
from albert_tf.objectives.base import Objective
from albert_tf.tasks.batching import TEACHER_LOGITS
from albert_tf.tasks.loading import load_fine_tuned
from albert_tf.tasks.prediction import by_length
from albert_tf.tasks.prediction import joined
from albert_tf.tasks.prediction import require_numbers
from albert_tf.tasks.registry import read_task
from albert_tf.tasks.task import Prepared
from albert_tf.tasks.tokenized_examples import begins_of
from albert_tf.tasks.tokenized_examples import cached
from albert_tf.tasks.tokenized_examples import cached_tokens
from albert_tf.tasks.tokenized_examples import tokens_facts

# The same in every run, so that a rebuilt cache has the same bytes.
_BATCH_SIZE = 32
_VERSION = 1  # increment when logits are computed differently


class TeacherTerm(LossTerm):
    """The distance to the teacher, weighted like the loss of the labels.

    Args:
        task: the `Task`.
        of_labels: the `LossTerm` of the labels.
        temperature: see `Task.distances`.
        scale: the factor of the term in the total loss.
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
        # Layers have the weights of `ExitsTerm`.
        depth = tf.range(1.0, len(layers) + 1)
        distances = tf.tensordot(depth / tf.reduce_sum(depth), tf.stack(distances), 1)
        return tf.reduce_sum(distances * self.weights(batch)), {}


def with_teacher(objective, task, flags):
    """Adds a `TeacherTerm` to a task's `Objective`, as `DistillationFlags` ask."""
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


def taught(opened, task, prepared, tokenizer, max_seq_length, config, cache_dir):
    """Adds a teacher's logits to a training set, if there is a teacher.

    Args:
        opened: the teacher's `Bundle`, or None.
        task: the student's `Task`.
        prepared: its `Prepared` training set.
        tokenizer, max_seq_length, config: the student's.
        cache_dir: the folder of cached tokens and logits.

    Returns:
        The `Prepared` training set, and the `IdentityEntry` for the teacher's weights.

    Raises:
        UserError: the teacher does not fit the task or the student's tokens.
    """
    if opened is None:
        return prepared, teacher_identity(None)
    teacher = Teacher(opened, task)
    logits = teacher.logits(prepared, tokenizer, max_seq_length, cache_dir)
    logits = task.as_wide(logits, config)
    tokens = dataclasses.replace(prepared.tokens, teacher=logits)
    return prepared._replace(tokens=tokens), teacher.fact


class Teacher:
    """A fine-tuned model from which a student learns.

    Args:
        opened: the teacher's `Bundle`.
        task: the student's `Task`.

    Raises:
        UserError: the model is for another task.
    """

    def __init__(self, opened, task):
        self._name = name = opened.path
        own = read_task(opened, task)
        if own is None:
            raise UserError(
                f"--teacher={name} was fine-tuned for no task that is known; name a "
                f"model that was fine-tuned for {task.kind}."
            )
        own.check_fits(f"--teacher={name}", task)
        # Without training info, the flags may decide how rows are built.
        knows_rows = opened.facts or own.head_tells_rows
        self._own, self._task = own, own if knows_rows else task
        self._length = opened.info.get("max_seq_length")
        self._model, self._tokenizer = load_fine_tuned(opened, own)
        self.fact = teacher_identity(self._model)

    def logits(self, prepared, tokenizer, max_seq_length, cache_dir):
        """Returns the logits for the student's rows; see `TokenizedExamples.teacher`.

        Args:
            prepared, tokenizer, max_seq_length: the student's; see `taught`.
            cache_dir: the folder of cached tokens and logits.

        Raises:
            UserError: outputs are per token and the teacher's tokens differ, or outputs
                contain NaN.
        """
        task, examples = self._task, prepared.examples
        config = self._model.config
        length = self._length or config.longest_row(max_seq_length)
        tokens = prepared.tokens
        if task.by_token:
            self._check_same_rows(tokenizer, max_seq_length)
            length = max_seq_length
        else:
            tokens = cached_tokens(task, examples, self._tokenizer, length, cache_dir)
        rows = tokens_facts(task, examples, self._tokenizer, length)
        logits = cached(
            cache_dir,
            ["teacher", _VERSION, rows, examples.digest(), self.fact.value],
            lambda logits: logits,
            lambda: {"logits": self._compute(Prepared(examples, tokens), length)},
        )
        return require_numbers(logits)

    def _check_same_rows(self, tokenizer, max_seq_length):
        tokenizers = (self._tokenizer, tokenizer)
        one, other = ((own.fingerprint(), own.layout) for own in tokenizers)
        if one != other:
            raise UserError(
                f"--teacher={self._name} has another vocabulary than the model, but "
                f"{self._task.kind} compares them token by token; name a teacher with "
                "the model's vocabulary."
            )
        if self._model.config.longest_row(max_seq_length) < max_seq_length:
            raise UserError(
                f"--teacher={self._name} has fewer positions than "
                f"--max_seq_length={max_seq_length}; lower that."
            )

    def _compute(self, prepared, length):
        """Computes logits, float32 `[rows, …]`, or `[len(ids), …]` per token."""
        task, tokens = self._task, prepared.tokens
        logging.info("%s teaches %d rows.", self._name, len(tokens))
        own, model = self._own, self._model
        objective = own.objective()
        dataset, order = by_length(tokens, _BATCH_SIZE, length, task.min_tokens)
        compute = tf.function(
            lambda batch: own.distilled(objective.outputs(model, batch, False, None)),
            input_signature=[dataset.element_spec],
            autograph=False,
        )
        parts = []
        for batch in dataset:
            part = compute(batch).numpy()
            parts.append(part[batch["input_mask"] > 0] if task.by_token else part)
        if task.by_token:
            return _in_place(np.concatenate(parts), tokens, order)
        return task.interpret(prepared, joined(parts)[np.argsort(order)])


def _in_place(values, tokens, order):
    """Reorders token values, in rows sorted by `order`, to the order of `ids`."""
    lengths = tokens.lengths[order]
    shifts = tokens.starts[order] - begins_of(lengths)
    places = np.arange(len(values)) + np.repeat(shifts, lengths)
    found = np.empty_like(values)
    found[places] = values
    return found
