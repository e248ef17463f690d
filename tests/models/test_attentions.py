"""Attention of tokens to each other, layer by layer."""

import numpy as np
import pytest

from albert_tf.errors import UserError
from albert_tf.models.albert import AlbertModel


def reference(layer, hidden, input_mask):
    """softmax(Q K^T / sqrt(D) + bias) in NumPy, `[B, N, T, T]`."""

    def heads(dense):
        kernel, bias = (np.array(v) for v in dense.weights)
        projected = hidden @ kernel + bias
        return projected.reshape(
            *hidden.shape[:2], layer.config.num_attention_heads, -1
        )

    query, key = heads(layer.query), heads(layer.key)
    scores = np.einsum("bqnd,bknd->bnqk", query, key) / np.sqrt(query.shape[-1])
    scores = scores - 10000.0 * (1 - input_mask[:, None, None, :])
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def test_every_layer(tiny_config, tiny_features):
    config = tiny_config(num_hidden_groups=2, inner_group_num=2)
    model = AlbertModel(config, return_attentions=True)
    outputs = model(tiny_features)
    first = model.embedding_mapping(outputs["embedding_output"])
    inputs = [first, *outputs["hidden_states"][:-1]]
    names = [key for blocks in model.transformer.layer_schedule for key, _ in blocks]
    assert len(outputs["attentions"]) == len(inputs) == 8
    for name, hidden, found in zip(names, inputs, outputs["attentions"], strict=True):
        layer = model.transformer.attention[name]
        expected = reference(layer, hidden.numpy(), tiny_features["input_mask"])
        np.testing.assert_allclose(found, expected, atol=1e-6)
    assert (found[1, :, :, -1].numpy() == 0).all()  # padding


def test_only_on_request(tiny_config, tiny_features):
    plain = AlbertModel(tiny_config())
    assert "attentions" not in plain(tiny_features)
    asked = AlbertModel(tiny_config(), return_attentions=True)
    assert AlbertModel.from_config(asked.get_config()).return_attentions
    with pytest.raises(UserError, match="return_attentions and depth_loop exclude"):
        AlbertModel(tiny_config(), return_attentions=True, depth_loop=True)


# Of transformers 5 with `attn_implementation="eager"`: layer and row i, head i, token 3
# to the first four tokens.
HUGGING_FACE = [
    [0.0528611, 0.05240718, 0.05264907, 0.05290578],
    [0.03459954, 0.03716332, 0.03447837, 0.03855469],
    [0.03239319, 0.03526827, 0.03745412, 0.03399544],
]


def test_equal_to_hugging_face(shared):
    folder = shared("fixtures/huggingface_pretraining")
    model = AlbertModel.from_pretrained(folder, return_attentions=True)
    inputs = np.load(folder / "inputs.npz")
    names = ("input_ids", "input_mask", "segment_ids")
    attentions = model({name: inputs[name] for name in names})["attentions"]
    found = [layer[i, i, 3, :4] for i, layer in enumerate(attentions)]
    np.testing.assert_allclose(found, HUGGING_FACE, atol=1e-6)
