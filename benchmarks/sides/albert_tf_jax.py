"""Takes turns with training steps of our layers on Keras' JAX backend."""

import os

os.environ["KERAS_BACKEND"] = "jax"

import jax
import keras
from keras import ops

from albert_tf.config import AlbertConfig
from albert_tf.models.pretraining import AlbertForPreTraining
from albert_tf.optimizers import create_optimizer
from benchmarks.measuring import turns

_FEATURES = ("input_ids", "input_mask", "segment_ids", "masked_lm_positions")


def main(setting):
    """Answers with the seconds of a step, or "losses" with the loss of each step."""
    keras.utils.set_random_seed(1)
    model = AlbertForPreTraining(
        AlbertConfig.from_dict(setting["config"]), dtype=setting["dtype_policy"]
    )
    optimizer = create_optimizer(
        "adamw", setting["learning_rate"], num_train_steps=1000000
    )
    optimizer.build(model.trainable_variables)
    step = jax.jit(make_step(model, optimizer), donate_argnums=0)
    batch = jax.device_put(turns.make_batch(**setting["batch"]))
    variables = (*model.trainable_variables, *optimizer.variables)
    # Copies: a donated buffer must not be the model's.
    state = [jax.numpy.array(variable.value) for variable in variables]

    def run_step():
        nonlocal state
        state, loss = step(state, batch)
        return loss

    def take_turn(request):
        if request == "losses":
            return [float(run_step()) for _ in range(setting["steps"])]
        return turns.seconds_per_step(
            run_step, setting["steps"], lambda: jax.block_until_ready(state)
        )

    details = {
        "versions": f"keras {keras.__version__}, jax {jax.__version__}",
        "device": jax.devices()[0].device_kind,
        "platform": jax.devices()[0].platform,
    }
    return take_turn, details


def make_step(model, optimizer):
    """Makes a step: from state (weights, optimizer) and batch to state and loss."""
    count = len(model.trainable_variables)
    fixed = [variable.value for variable in model.non_trainable_variables]

    def loss_of(weights, batch):
        features = {name: batch[name] for name in _FEATURES}
        outputs, _ = model.stateless_call(
            weights, fixed, features, training=True, heads_only=True
        )
        return sum(
            ops.mean(
                ops.sparse_categorical_crossentropy(
                    batch[labels], ops.cast(outputs[logits], "float32"), True
                )
            )
            for labels, logits in (
                ("masked_lm_ids", "masked_lm_logits"),
                ("sentence_order_labels", "sentence_order_logits"),
            )
        )

    def step(state, batch):
        weights, slots = state[:count], state[count:]
        loss, gradients = jax.value_and_grad(loss_of)(weights, batch)
        norm = ops.sqrt(sum(ops.sum(ops.square(g)) for g in gradients))
        scale = 1.0 / ops.maximum(norm, 1.0)
        gradients = [g * scale for g in gradients]
        weights, slots = optimizer.stateless_apply(slots, gradients, weights)
        return [*weights, *slots], loss

    return step
