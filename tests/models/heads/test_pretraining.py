"""The pretraining model against the outputs of the official code."""

import numpy as np
import pytest
import tensorflow as tf

import albert_tf
from albert_tf.models.pretraining import AlbertForPreTraining


@pytest.fixture(scope="module", params=["official_tf1_lamb", "official_tf1_adamw"])
def official(request, shared):
    """The model, inputs and outputs of one official checkpoint."""
    folder = shared(f"fixtures/{request.param}")
    config = albert_tf.AlbertConfig.from_json_file(folder / "albert_config.json")
    model = AlbertForPreTraining(config)
    albert_tf.load_tf1_checkpoint(model, folder / "model.ckpt-0")
    inputs = dict(np.load(folder / "inputs.npz"))
    return model, inputs, dict(np.load(folder / "expected.npz"))


@pytest.mark.parametrize("jit_compile", [False, True])
def test_outputs_equal_the_official_ones(official, jit_compile):
    model, inputs, expected = official
    function = tf.function(model, jit_compile=True) if jit_compile else model
    outputs = function(inputs)
    masked_lm = tf.nn.log_softmax(outputs["masked_lm_logits"])
    sentence_order = tf.nn.log_softmax(outputs["sentence_order_logits"])
    for name, found in (
        ("sequence_output", outputs["sequence_output"]),
        ("pooled_output", outputs["pooled_output"]),
        ("mlm_log_probs", tf.reshape(masked_lm, (-1, masked_lm.shape[-1]))),
        ("sop_log_probs", sentence_order),
    ):
        np.testing.assert_allclose(found, expected[name], rtol=0, atol=1e-5)


def test_every_layer_equals_the_official_one(official):
    model, inputs, expected = official
    outputs = model.albert(inputs)
    np.testing.assert_allclose(
        outputs["embedding_output"], expected["embedding_output"], rtol=0, atol=1e-5
    )
    for i, hidden in enumerate(outputs["hidden_states"]):
        np.testing.assert_allclose(hidden, expected[f"layer_{i}"], rtol=0, atol=1e-5)


def test_head_is_tied_to_the_word_table(tiny_config, tiny_features):
    model = AlbertForPreTraining(tiny_config())
    tables = [v for v in model.trainable_variables if tuple(v.shape) == (37, 6)]
    assert len(tables) == 1
    before = model(tiny_features)["masked_lm_logits"].numpy()
    unused = next(i for i in range(37) if i not in tiny_features["input_ids"])
    table = tables[0].numpy()
    table[unused, 0] += 1
    tables[0].assign(table)
    difference = np.abs(model(tiny_features)["masked_lm_logits"] - before)
    assert difference[..., unused].min() > 0
    difference[..., unused] = 0
    assert difference.max() == 0


def test_gradient_of_the_table_has_both_parts(tiny_config, tiny_features):
    model = AlbertForPreTraining(tiny_config())
    table = model.albert.embeddings.word_embeddings
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(model(tiny_features)["masked_lm_logits"] ** 2)
    gradient = tf.convert_to_tensor(tape.gradient(loss, table.value)).numpy()
    # The projection reaches every row, the lookup only those of the input.
    assert (np.abs(gradient).sum(-1) > 0).all()


def test_positions_may_be_absent(tiny_config, tiny_features):
    model = AlbertForPreTraining(tiny_config())
    del tiny_features["masked_lm_positions"]
    outputs = model(tiny_features)
    assert set(outputs) == {"sequence_output", "pooled_output", "sentence_order_logits"}


def test_gathered_positions(tiny_config, tiny_features):
    model = AlbertForPreTraining(tiny_config())
    everywhere = {
        **tiny_features,
        "masked_lm_positions": np.tile(np.arange(7, dtype="int32"), (2, 1)),
    }
    every = model(everywhere)["masked_lm_logits"].numpy()
    some = model(tiny_features)["masked_lm_logits"]
    positions = tiny_features["masked_lm_positions"]
    expected = np.take_along_axis(every, positions[:, :, None], axis=1)
    np.testing.assert_allclose(some, expected, atol=1e-6)
