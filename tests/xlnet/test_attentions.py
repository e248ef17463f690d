"""Attention of tokens to each other in XLNet, layer by layer."""

import numpy as np
import pytest

from albert_tf.errors import UserError
from albert_tf.xlnet.model import XLNetModel


def test_they_lead_to_the_outputs(xlnet_config, xlnet_features, randomised):
    config = xlnet_config(n_layer=2)
    model = randomised(XLNetModel(config, return_attentions=True))
    outputs = model(xlnet_features)
    inputs = [outputs["embedding_output"], *outputs["hidden_states"][:-1]]
    tokens = xlnet_features["input_ids"].shape[1]
    for i, found in enumerate(outputs["attentions"]):
        assert found.shape == (2, config.n_head, tokens, tokens)
        np.testing.assert_allclose(np.sum(found, axis=-1), 1, atol=1e-5)
        attention = model.stack.attention[f"{i}_0"]
        hidden = inputs[i].numpy()
        value = np.einsum("bkw,wnd->bknd", hidden, attention.v_kernel)
        context = np.einsum("bnqk,bknd->bqnd", found, value)
        output = np.einsum("bqnd,wnd->bqw", context, attention.o_kernel)
        normed = attention.layer_norm(hidden + output)
        block = model.stack.feed_forward[f"{i}_0"](normed, None)
        np.testing.assert_allclose(outputs["hidden_states"][i], block, atol=1e-4)
    # Of the second row the last token is padding: others do not see it.
    assert np.all(outputs["attentions"][0].numpy()[1, :, :-1, -1] == 0)


def test_only_on_request(xlnet_config, xlnet_features):
    asked = XLNetModel(xlnet_config(mem_len=2), return_attentions=True)
    assert XLNetModel.from_config(asked.get_config()).return_attentions
    assert "attentions" not in XLNetModel(xlnet_config())(xlnet_features)
    memories = asked.first_memories(2)
    with pytest.raises(UserError, match="of one text attend to; leave memories out"):
        asked({**xlnet_features, "memories": memories})
    with pytest.raises(UserError, match="return_attentions and depth_loop exclude"):
        XLNetModel(xlnet_config(), return_attentions=True, depth_loop=True)
