"""The feed-forward sublayer of a transformer block."""

import keras

from albert_tf.layers.activations import ACTIVATION_FUNCTIONS
from albert_tf.layers.activations import GATED_FUNCTIONS
from albert_tf.layers.sublayer import Sublayer

_OUTPUT_SITE = 2


@keras.saving.register_keras_serializable(package="albert_tf")
class FeedForward(Sublayer):
    """Two projections, with dropout, residual and layer norm.

    Official `attention_ffn_block`, from the scope `ffn_1` on. With "geglu" or "swiglu"
    as `config.hidden_act`, the activation of a third projection, `gate`, multiplies the
    first (Shazeer, arXiv 2002.05202).

    Args:
        config: an `AlbertConfig`.

    Call: hidden `[batch, tokens, hidden]`, `seed` int32 `[2]` of the block or None
    for inference, to `[batch, tokens, hidden]`. `adapters`: of the block, by
    projection; see `DepthAdapters.of_block`.
    """

    def __init__(self, config, **kwargs):
        super().__init__(config, **kwargs)
        self.intermediate = self._projection(config.intermediate_size, "intermediate")
        self.gate = None
        if config.is_gated:
            self.gate = self._projection(config.intermediate_size, "gate")
        self.output_dense = self._output_projection()
        self.layer_norm = self._norm()

    @property
    def projections(self):
        """The `Dense` layers, in the order of the call."""
        gate = [] if self.gate is None else [self.gate]
        return [self.intermediate, *gate, self.output_dense]

    def build(self, input_shape=None):
        config = self.config
        self.intermediate.build((None, None, config.hidden_size))
        if self.gate is not None:
            self.gate.build((None, None, config.hidden_size))
        self.output_dense.build((None, None, config.intermediate_size))
        self.layer_norm.build((None, None, config.hidden_size))

    def call(self, hidden, seed=None, adapters=None):
        output = self.project(self._inputs(hidden), adapters or {})
        return self._sum(hidden, output, seed, _OUTPUT_SITE)

    def project(self, hidden, adapters):
        """Computes `[batch, tokens, hidden]`; an export may replace this."""
        inner = self.intermediate(hidden, adapter=adapters.get("intermediate"))
        if self.gate is None:
            inner = ACTIVATION_FUNCTIONS[self.config.hidden_act](inner)
        else:
            gated = GATED_FUNCTIONS[self.config.hidden_act]
            gate = self.gate(hidden, adapter=adapters.get("gate"))
            inner = gated(gate, inner)
        return self.output_dense(inner, adapter=adapters.get("output_dense"))
