"""Training steps as the official codes take them on one CPU or GPU, for comparison.

First those of ALBERT, then losses and steps of XLNet.

The engine (`train_step.py`) clips by the true norm of the gradients; the official
norm differs from it in one table, see `_official_norm`.
"""

import numpy as np
import tensorflow as tf

from albert_tf.errors import UserError
from albert_tf.objectives.masked_lm import PretrainingObjective
from albert_tf.optimizers.adam import AdamW

_CLIP_NORM = 1.0
_OPTIMIZER, _DECAY = "AdamWeightDecayOptimizer", "poly"
_OFFICIAL_NAMES = {"input_k": "input_ids", "seg_id": "segment_ids", "target": "labels"}
_NO_FEATURES = ("labels", "label_weights")


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


def segments(inputs):
    """Lists a recording's batches, one a segment: features, labels and weights."""
    own = {n: v for n, v in inputs.items() if "/" not in n}
    count = len(own["perm_mask"])
    return [with_targets({n: v[t] for n, v in own.items()}) for t in range(count)]


def with_targets(arrays):
    """Renames the recorded arrays of one call as this project names them."""
    batch = {_OFFICIAL_NAMES.get(name, name): value for name, value in arrays.items()}
    mapping = batch["target_mapping"]  # [B, P, S]
    predicts = mapping.sum(axis=-1) > 0
    positions = np.where(predicts, mapping.argmax(axis=-1), -1)
    labels = batch["labels"]
    weights = batch.get("target_mask", (labels >= 0).astype(np.float32))
    known = ("input_ids", "segment_ids", "token_type_ids", "attention_mask")
    return {
        **{name: batch[name] for name in (*known, "perm_mask") if name in batch},
        "target_positions": positions.astype(np.int32),
        "labels": np.maximum(labels, 0),
        "label_weights": weights,
    }


def features(batch):
    """Selects the features of a batch that the model reads."""
    return {name: v for name, v in batch.items() if name not in _NO_FEATURES}


def losses(logits, batch):
    """Computes the mean loss of real predictions, and each one's, 0 for padding."""
    weights = tf.cast(batch["label_weights"], tf.float32)
    token_loss = weights * tf.nn.sparse_softmax_cross_entropy_with_logits(
        batch["labels"], logits
    )
    return tf.reduce_sum(token_loss) / tf.reduce_sum(weights), token_loss


def loss_and_gradients(model, batch):
    """Returns the mean loss, its gradients by official name, and the new memories."""
    with tf.GradientTape() as tape:
        outputs = model(features(batch))
        loss, _ = losses(outputs["logits"], batch)
    return loss, gradients_of(tape, loss, model), outputs["memories"]


def gradients_of(tape, loss, model):
    """Returns gradients by official name, dense."""
    variables = model.trainable_variables
    found = tape.gradient(loss, [variable.value for variable in variables])
    names = model.official_names()
    return {
        names[variable.path]: tf.convert_to_tensor(gradient)
        for variable, gradient in zip(variables, found, strict=True)
    }


def trained(model, batches, recipe, source):
    """Takes a step on each batch, with the memories of the one before.

    The model has other weights afterwards.

    Args:
        model: an `XLNetLMHeadModel`.
        batches: see `segments`.
        recipe: the entries of `train.json`.
        source: its name in messages.

    Returns:
        A dict of the recording's train_losses, train_learning_rates,
        train_gradient_norms and after/<name>.

    Raises:
        UserError: the recipe lacks something, or asks for another optimizer.
    """
    try:
        told = (recipe["optimizer"], recipe["decay_method"])
        rates = [_learning_rate(step, recipe) for step in range(recipe["steps"])]
        optimizer = AdamW(
            weight_decay_rate=recipe["weight_decay"], epsilon=recipe["adam_epsilon"]
        )
        clip = recipe["clip"]
    except (KeyError, TypeError) as error:
        raise UserError(f"{source} is not a training recipe: {error}.") from error
    if told != (_OPTIMIZER, _DECAY):
        raise UserError(
            f"{source} asks for {told[0]!r} with {told[1]!r}; verify takes the steps "
            f"of {_OPTIMIZER!r} with {_DECAY!r} only."
        )
    variables = model.trainable_variables
    optimizer.build(variables)
    names = model.official_names()
    memories = model.transformer.first_memories(len(batches[0]["input_ids"]))
    step_losses, norms = [], []
    for rate, batch in zip(rates, batches, strict=False):
        loss, gradients, memories = loss_and_gradients(
            model, {**batch, "memories": memories}
        )
        ordered = [gradients[names[variable.path]] for variable in variables]
        clipped, norm = tf.clip_by_global_norm(ordered, clip)
        optimizer.learning_rate = rate
        optimizer.apply(clipped, variables)
        step_losses.append(loss)
        norms.append(norm)
    weights = model.official_variables()
    return {
        "train_losses": tf.stack(step_losses),
        "train_learning_rates": np.array(rates, np.float32),
        "train_gradient_norms": tf.stack(norms),
        **{f"after/{name}": variable for name, variable in weights.items()},
    }


def _learning_rate(step, recipe):
    """Computes a rate linear up, then down from the warm-up on (`model_utils.py`)."""
    rate, warm_up = recipe["learning_rate"], recipe["warmup_steps"]
    if step < warm_up:
        return rate * step / warm_up
    done = min((step - warm_up) / (recipe["train_steps"] - warm_up), 1.0)
    least = recipe["min_lr_ratio"]
    return rate * (least + (1 - least) * (1 - done))
