"""The configuration of an XLNet: its architecture, and settings of a run."""

import dataclasses

from albert_tf.config import ModelConfig
from albert_tf.row_layout import CLS_LAST
from albert_tf.xlnet import costs

ACTIVATIONS = ("gelu", "relu", "gelu_erf", "linear", "silu", "tanh")


@dataclasses.dataclass(frozen=True)
class XLNetConfig(ModelConfig):
    """The fields of the official `xlnet_config.json`, and settings of a run.

    The defaults of the last four fields give XLNet; other values factorise its
    embeddings and share its layers as ALBERT does. The constructor checks every value.

    Attributes:
        n_token: size of the vocabulary.
        d_model: width of the hidden states, even.
        n_layer: number of layers.
        n_head: heads of each layer's attention.
        d_head: width of a head; need not be `d_model / n_head`.
        d_inner: width of the feed-forward layer.
        ff_activation: "gelu" (the tanh approximation), "gelu_erf" (exact), "relu",
            "silu", "tanh" or "linear".
        untie_r: each layer has its own three biases of attention.
        dropout: dropout everywhere except on attention probabilities.
        dropatt: dropout of attention probabilities.
        mem_len: hidden states that a layer remembers; 0: none.
        reuse_len: how many tokens of a segment a layer remembers; 0: all.
        clamp_len: limit to which distances are clamped; 0 or less: no limit.
        bi_data: the second half of a batch's rows holds reversed text. The feature
            `reversed_rows` takes precedence.
        initializer_range: standard deviation of the normal distribution.
        embedding_size: width of the table; None: `d_model`, without a mapping.
        parameter_sharing: sublayers that the layers of a group share: "all", only
            "attention" (with its biases and segments), only "ffn", or "none" (every
            layer has its own).
        num_hidden_groups: contiguous runs of layers that share parameters.
        inner_group_num: distinct blocks run one after another in a layer.

    Example:
        config = XLNetConfig.from_json_file("xlnet_config.json")
        config = dataclasses.replace(config, parameter_sharing="all")

    Raises:
        UserError: a value that is out of range or does not fit another one.
    """

    file_name = "xlnet_config.json"
    official_keys = (
        "n_token",
        "d_model",
        "n_layer",
        "n_head",
        "d_head",
        "d_inner",
        "ff_activation",
        "untie_r",
    )
    choices = {**ModelConfig.choices, "ff_activation": ACTIVATIONS}
    smallest = {"mem_len": 0, "reuse_len": 0, "clamp_len": -(2**31)}
    depth_field = "n_layer"
    dropout_fields = ("dropout", "dropatt")
    row_layout = CLS_LAST
    costs = costs

    n_token: int
    d_model: int
    n_layer: int
    n_head: int
    d_head: int
    d_inner: int
    ff_activation: str = "gelu"
    untie_r: bool = True
    dropout: float = 0.1
    dropatt: float = 0.1
    mem_len: int = 0
    reuse_len: int = 0
    clamp_len: int = -1
    bi_data: bool = False
    initializer_range: float = 0.02
    embedding_size: int | None = None
    parameter_sharing: str = "none"
    num_hidden_groups: int = 1
    inner_group_num: int = 1

    def __post_init__(self):
        super().__post_init__()
        expected = "even, because half of a position code is sines"
        self._check("d_model", not self.d_model % 2, expected)

    # The names that code for all architectures uses.
    @property
    def vocab_size(self) -> int:
        """`n_token`."""
        return self.n_token

    @property
    def hidden_size(self) -> int:
        """`d_model`."""
        return self.d_model

    @property
    def num_hidden_layers(self) -> int:
        """`n_layer`."""
        return self.n_layer

    @property
    def intermediate_size(self) -> int:
        """`d_inner`."""
        return self.d_inner

    @property
    def max_position_embeddings(self):
        """None: positions are relative, and a row may have any number of tokens."""
        return

    @property
    def type_vocab_size(self) -> int:
        """5: rows have the segments 0 to 4; there is no segment table."""
        return 5

    @property
    def blocks(self) -> int:
        """The number of blocks in sequence; each has its own memory."""
        return self.n_layer * self.inner_group_num

    @property
    def has_embedding_mapping(self) -> bool:
        """True if a projection leads from the embeddings to the hidden size."""
        return self.embedding_size not in (None, self.d_model)

    @property
    def table_width(self):
        """Width of the word table."""
        return self.embedding_size if self.has_embedding_mapping else self.d_model
