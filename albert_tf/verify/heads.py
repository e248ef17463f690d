"""Common parts of the comparisons of all heads."""

import tensorflow as tf

from albert_tf.checkpoints.loading import build_model
from albert_tf.checkpoints.loading import read_checkpoint
from albert_tf.errors import UserError


def model_with_head(directory, model_class, arguments):
    """Loads the model of a checkpoint that has the head of a class.

    Args:
        directory: holds the checkpoint.
        model_class: a `PretrainedModel`.
        arguments: of its constructor, beside the config.

    Raises:
        UserError: there is no checkpoint, or it has no such head.
    """
    model = build_model(model_class, read_checkpoint(directory), (), arguments)
    missing = set(model.load_report.new) & set(model.head_variables())
    if missing:
        raise UserError(
            f"{directory} has no head to compare: its checkpoint lacks "
            f"{sorted(missing)[0]}."
        )
    return model


def loss_and_gradients(model, objective, batch):
    """Computes the loss without dropout, `loss`, and its `grad/<official name>`.

    Args:
        model: a `PretrainedModel`.
        objective: the engine's `Objective`.
        batch: dict of its features and labels.
    """
    variables = model.trainable_variables
    with tf.GradientTape() as tape:
        losses, _ = objective(model, batch, training=False, dropout_seed=None)
        weights = objective.denominators(batch)
        loss = sum(losses[term] / weights[term] for term in losses)
    gradients = tape.gradient(loss, [variable.value for variable in variables])
    names = model.official_names()
    return {
        "loss": loss,
        **{
            f"grad/{names[variable.path]}": tf.convert_to_tensor(gradient)
            for variable, gradient in zip(variables, gradients, strict=True)
        },
    }
