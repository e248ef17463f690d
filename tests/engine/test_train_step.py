"""A training step, by the formulas and however it is divided or compiled."""

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.engine.device_loop import Stage
from albert_tf.engine.evaluation import average
from albert_tf.optimizers import create_optimizer

STEPS = 3


def lamb():
    return create_optimizer("lamb", 0.05, 100, 2)


@pytest.mark.slow
def test_compiled_steps_are_the_same(make_linear_trainer, batches):
    found = []
    for way in ({}, {"use_xla": True}, {"xla_beside_products": True}):
        named = {"directory": str([*way]), "make_optimizer": lamb}
        trainer = make_linear_trainer(STEPS, **named, **way)
        trainer.train(batches())
        found.append([variable.numpy() for variable in trainer.model.weights])
    plain, *compiled = found
    assert (plain[0] != 1).all()
    for values in compiled:
        for one, other in zip(values, plain, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("asked", [False, True])
def test_what_xla_compiles_beside_products(make_trainer, rows, asked):
    """The activation of a layer and its gradient, and the update."""
    trainer = make_trainer(1, dtype="mixed_bfloat16", xla_beside_products=asked)
    batch = {name: tf.constant(value) for name, value in rows.items()}
    step = tf.function(lambda: trainer.strategy.run(trainer._train_step, (batch,)))
    library = step.get_concrete_function().graph.as_graph_def().library
    compiled = [f for f in library.function if f.attr["_XlaMustCompile"].b]
    operations = [{node.op for node in f.node_def} for f in compiled]
    assert any("Tanh" in found for found in operations) is asked
    assert any("TanhGrad" in found for found in operations) is asked
    assert any("Sqrt" in found for found in operations) is asked
    assert not any("MatMul" in found for found in operations)


def test_a_step_equals_the_formulas(make_trainer, rows, weights, take_step):
    """Loss, clipping and optimizer as one would write them down."""
    reference, trainer = make_trainer(1), make_trainer(1, clip_norm=0.5)
    with tf.GradientTape() as tape:
        outputs = reference.model(rows)
        masked_lm = tf.nn.sparse_softmax_cross_entropy_with_logits(
            labels=rows["masked_lm_ids"], logits=outputs["masked_lm_logits"]
        )
        mask = rows["masked_lm_weights"]
        sentence_order = tf.nn.sparse_softmax_cross_entropy_with_logits(
            labels=rows["sentence_order_labels"],
            logits=outputs["sentence_order_logits"],
        )
        loss = tf.reduce_sum(masked_lm * mask) / (tf.reduce_sum(mask) + 1e-5)
        loss += tf.reduce_mean(sentence_order)
    variables = reference.model.trainable_variables
    gradients = [tf.convert_to_tensor(g) for g in tape.gradient(loss, variables)]
    norm = tf.linalg.global_norm(gradients)
    assert norm > 0.5
    clipped = [g * 0.5 / norm for g in gradients]
    # Past the warm-up, so that the learning rate is not 0.
    for optimizer in (reference.optimizer, trainer.optimizer):
        optimizer.iterations.assign(10)
    reference.optimizer.apply(clipped, variables)

    sums = take_step(trainer, rows)
    found = weights(trainer)
    for path, value in weights(reference).items():
        # Softmax cancels a key's bias: its gradient is rounding noise, which the
        # optimizer's division by the gradient's own size then blows up.
        if "/key/bias" not in path:
            np.testing.assert_allclose(found[path], value, atol=1e-6, err_msg=path)
    results = average(sums, np.array([*sums.values()]), trainer.objective)
    np.testing.assert_allclose(results["loss"], loss, rtol=1e-6)
    np.testing.assert_allclose(results["gradient_norm"], norm, rtol=1e-5)


@pytest.mark.slow
def test_what_no_loss_reaches_stays_as_it_is(make_trainer, batches, weights):
    # The pooler and the head behind it are there for the order of sentences.
    trainer = make_trainer(STEPS, objective="none")
    before = weights(trainer)
    trainer.train([Stage(batches(), STEPS, 2)])
    after = weights(trainer)
    same = [name for name in after if np.array_equal(after[name], before[name])]
    assert same and all("pooler" in n or "seq_relationship" in n for n in same)
    assert all(name in same for name in after if "pooler" in name)
    variables = trainer.model.trainable_variables
    for variable, moments in zip(variables, trainer.optimizer.moments, strict=True):
        sees_pairs = "pooler" in variable.path or "order" in variable.path
        assert all(m.numpy().any() != sees_pairs for m in moments.values())
