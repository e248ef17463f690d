"""Norm, dropout and residual around both functions of a transformer block."""

from keras import ops

from albert_tf.layers.configured_layer import ConfiguredLayer
from albert_tf.layers.configured_layer import truncated_normal
from albert_tf.layers.dropout import dropout
from albert_tf.layers.layer_norm import LayerNorm


class Sublayer(ConfiguredLayer):
    """Attention or feed-forward layer, with layer norm, dropout and residual.

    The norm is of the sum, as in the official code (`config.norm` "post"), or of the
    function's input ("pre"; Xiong et al., arXiv 2002.04745). Then the residual
    path is free, and the last projection of each function is initialised smaller, by
    one over the root of the number of functions (GPT-2), so that the sum does not grow
    with depth.

    Args:
        config: an `AlbertConfig`.
    """

    def _projection(self, units, name):
        return self._dense(units, name, use_bias=self.config.use_bias)

    def _output_projection(self):
        """Adds the projection of the function's output, `hidden_size` wide."""
        config = self.config
        initializer = None
        if config.norm == "pre":
            functions = 2 * config.num_hidden_layers * config.inner_group_num
            initializer = truncated_normal(config.initializer_range / functions**0.5)
        return self._dense(
            config.hidden_size,
            "output_dense",
            use_bias=config.use_bias,
            initializer=initializer,
        )

    def _norm(self):
        return LayerNorm(
            self.config,
            use_bias=self.config.use_bias,
            dtype=self.dtype_policy,
            name="layer_norm",
        )

    def _inputs(self, hidden):
        """Returns the function's input for `hidden`, `[batch, tokens, hidden]`."""
        return self.layer_norm(hidden) if self.config.norm == "pre" else hidden

    def _sum(self, residual, output, seed, site):
        """Returns the output of the sublayer, `[batch, outputs, hidden]`.

        Args:
            residual: the tokens that it is for.
            output: the function's result for them.
            seed: int32 `[2]` of the block or None for inference.
            site: of the dropout in the block.
        """
        output = dropout(output, self.config.hidden_dropout_prob, seed, site)
        output = ops.add(residual, output)
        return output if self.config.norm == "pre" else self.layer_norm(output)
