"""Training steps as the official code takes them on one CPU or GPU, for comparison.

The engine (`train_step.py`) clips by the true norm of the gradients; the official
norm differs from it in one table, see `_official_norm`.
"""

import tensorflow as tf

from albert_tf.objectives.masked_lm import PretrainingObjective

_CLIP_NORM = 1.0


def train(model, optimizer, batch, steps):
    """Trains on one constant batch, without dropout.

    Args:
        model: an `AlbertForPreTraining`; it has other weights afterwards.
        optimizer: LAMB or AdamW, not built yet.
        batch: dict of the features and labels of `PretrainingObjective`.
        steps: how many steps to take.

    Returns:
        The losses before each step and after the last, float32 scalars.
    """
    optimizer.build(model.trainable_variables)
    # The official graph advances its counter before it looks up the rate.
    optimizer.iterations.assign(1)
    losses = []
    for _ in range(steps):
        step_losses, dense = gradients(model, batch)
        norm = _official_norm(model, batch, dense)
        clipped, _ = tf.clip_by_global_norm(dense, _CLIP_NORM, use_norm=norm)
        optimizer.apply(clipped, model.trainable_variables)
        losses.append(step_losses[0])
    return [*losses, _loss(model, batch)[0]]


def gradients(model, batch):
    """Returns (loss, masked LM loss, sentence-order loss) and the loss's gradients."""
    with tf.GradientTape() as tape:
        losses = _loss(model, batch)
    variables = [variable.value for variable in model.trainable_variables]
    found = tape.gradient(losses[0], variables)
    return losses, [tf.convert_to_tensor(gradient) for gradient in found]


def _loss(model, batch, rows=slice(None)):
    """Returns the pretraining loss and its terms, or the share of `rows` in them."""
    objective = PretrainingObjective()
    denominators = objective.denominators(batch)
    part = {name: value[rows] for name, value in batch.items()}
    sums, _ = objective(model, part, training=False, dropout_seed=None)
    masked_lm, sentence_order = (
        sums[term] / (denominators[term] + objective.epsilons.get(term, 0))
        for term in ("masked_lm", "sentence_order")
    )
    return masked_lm + sentence_order, masked_lm, sentence_order


def _official_norm(model, batch, dense):
    """Computes the global norm by which the official code clips.

    On CPU and GPU it looks segments up in their table, and TensorFlow takes the norm of
    such a gradient over its list of rows, one a token, before rows of the same segment
    are added up. A token's row is also, example by example, the row of its position.
    """
    embeddings = model.albert.embeddings
    paths = [variable.path for variable in model.trainable_variables]
    segments = dense[paths.index(embeddings.token_type_embeddings.path)]
    square = tf.square(tf.linalg.global_norm(dense))
    square -= tf.reduce_sum(tf.square(segments))
    positions = embeddings.position_embeddings.value
    for i in range(batch["input_ids"].shape[0]):
        with tf.GradientTape() as tape:
            loss, *_ = _loss(model, batch, rows=slice(i, i + 1))
        rows = tf.convert_to_tensor(tape.gradient(loss, positions))  # [P, E]
        square += tf.reduce_sum(tf.square(rows))
    return tf.sqrt(square)
