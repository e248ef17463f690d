"""The configuration of modeling_albert_tf.py, for transformers.

albert_tf writes both files beside the weights of a model that no class of transformers
computes. SPDX-License-Identifier: Apache-2.0
"""

from transformers import PretrainedConfig

# The fields of albert_tf's `AlbertConfig`, which its documentation explains, with their
# defaults; and the dropout rate before a classifier.
FIELDS = {
    "vocab_size": None,
    "embedding_size": 128,
    "hidden_size": 4096,
    "num_hidden_layers": 12,
    "num_hidden_groups": 1,
    "num_attention_heads": 64,
    "intermediate_size": 16384,
    "inner_group_num": 1,
    "hidden_act": "gelu",  # approximated by tanh; "gelu_erf" is exact
    "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0,
    "max_position_embeddings": 512,
    "type_vocab_size": 2,
    "initializer_range": 0.02,
    "parameter_sharing": "all",
    "always_map_embeddings": False,
    "position_embedding_type": "learned",
    "norm": "post",
    "use_bias": True,
    "local_attention_window": None,
    "global_attention_every": 3,
    "depth_adapter_rank": 0,
    "layer_norm_eps": 1e-12,
    "tie_word_embeddings": True,
    "padding_idx": None,
    "classifier_dropout_prob": 0.1,
}
GATED_ACTIVATIONS = {
    "geglu": "gelu",
    "geglu_erf": "gelu_erf",
    "reglu": "relu",
    "swiglu": "silu",
}


class AlbertTfConfig(PretrainedConfig):
    """An ALBERT's sizes and blocks: each of `FIELDS` is an attribute."""

    model_type = "albert_tf"

    def __init__(self, **kwargs):
        values = {name: kwargs.pop(name, default) for name, default in FIELDS.items()}
        super().__init__(**kwargs)
        for name, value in values.items():
            setattr(self, name, value)

    @property
    def gate_act(self):
        """The gate's activation in a gated feed-forward layer; None without a gate."""
        return GATED_ACTIVATIONS.get(self.hidden_act)

    @property
    def head_act(self):
        """The activation of the masked language model's head."""
        if self.padding_idx is not None:
            return "gelu_erf"
        return self.gate_act or self.hidden_act

    def layer_schedule(self):
        """Lists each layer's groups, as pairs of the attention's and feed-forward's."""

        def groups(layer):
            group = layer * self.num_hidden_groups // self.num_hidden_layers
            shares = self.parameter_sharing
            attention = group if shares in ("all", "attention") else layer
            return attention, group if shares in ("all", "ffn") else layer

        return [groups(layer) for layer in range(self.num_hidden_layers)]

    def adapted_products(self):
        """Returns {projection: (inputs, outputs)} of those with depth adapters."""
        if not self.depth_adapter_rank:
            return {}
        hidden, inner = self.hidden_size, self.intermediate_size
        found = {}
        if self.parameter_sharing in ("all", "attention"):
            found |= dict.fromkeys(("query", "key", "value", "dense"), (hidden, hidden))
        if self.parameter_sharing in ("all", "ffn"):
            found |= {"ffn": (hidden, inner), "ffn_output": (inner, hidden)}
            if self.gate_act:
                found["ffn_gate"] = (hidden, inner)
        return found
