"""The architecture of one ALBERT encoder, and the table of released sizes."""

import dataclasses
import os
from typing import TYPE_CHECKING
from typing import Any

from albert_tf.costs import albert as costs
from albert_tf.errors import UserError
from albert_tf.io.files import write_json
from albert_tf.model_config import LAYER_NORM_EPS
from albert_tf.model_config import ModelConfig
from albert_tf.model_config import check_choice
from albert_tf.row_layout import CLS_FIRST
from albert_tf.row_layout import ONE_SEGMENT
from albert_tf.row_layout import TWO_SEPARATORS
from albert_tf.row_layout import RowLayout

if TYPE_CHECKING:
    from typing_extensions import Self

GATED_ACTIVATIONS = {"geglu": "gelu", "swiglu": "silu"}
"""Activation of the gate of a gated feed-forward layer, by `hidden_act`."""

ACTIVATIONS = (
    *("gelu", "relu", "linear", "tanh", "gelu_erf", "silu"),
    *GATED_ACTIVATIONS,
)
POSITIONS = ("learned", "rotary")
NORMS = ("post", "pre")
_SIZES = (
    "embedding_size",
    "hidden_size",
    "inner_group_num",
    "intermediate_size",
    "max_position_embeddings",
    "num_attention_heads",
    "num_hidden_groups",
    "num_hidden_layers",
    "type_vocab_size",
    "vocab_size",
)
# Keys of released `albert_config.json` files that no public code acts on.
_INERT_KEYS = frozenset(
    {
        "down_scale_factor",
        "gap_size",
        "layers_to_keep",
        "net_structure_type",
        "num_memory_blocks",
    }
)
# Fields of blocks that official ones lack, with their fixed values.
_OFFICIAL_BLOCKS = {
    "position_embedding_type": "learned",
    "norm": "post",
    "use_bias": True,
    "local_attention_window": None,
    "global_attention_every": 3,
    "depth_adapter_rank": 0,
}
# Fields that some models of Hugging Face have otherwise.
_MOST_MODELS = {
    "layer_norm_eps": LAYER_NORM_EPS,
    "tie_word_embeddings": True,
    "padding_idx": None,
}
# The fields that the official code does not know, with its fixed values.
_OFFICIAL_VALUES = {
    "parameter_sharing": "all",
    "always_map_embeddings": False,
    **_OFFICIAL_BLOCKS,
    **_MOST_MODELS,
}
_PROBABILITIES = ("hidden_dropout_prob", "attention_probs_dropout_prob")


@dataclasses.dataclass(frozen=True)
class AlbertConfig(ModelConfig):
    """The fields of the official `albert_config.json`, and some more.

    By default the architecture is the official one. Every value is checked on
    construction.

    Example:
        config = AlbertConfig.from_json_file("albert_config.json")
        config = AlbertConfig.released("base_v2", hidden_dropout_prob=0.1)

    Raises:
        UserError: a value that is out of range or does not fit another one.
    """

    file_name = "albert_config.json"
    dropout_fields = _PROBABILITIES
    inert_keys = _INERT_KEYS
    costs = costs

    vocab_size: int
    embedding_size: int = 128  # E; the tables are E wide, then mapped to H
    hidden_size: int = 4096  # H
    num_hidden_layers: int = 12  # layers computed, whatever is shared
    num_hidden_groups: int = 1  # contiguous runs of layers sharing parameters
    num_attention_heads: int = 64
    intermediate_size: int = 16384  # width of the feed-forward layer
    inner_group_num: int = 1  # distinct blocks run one after another in a layer
    hidden_act: str = "gelu"  # tanh approximation; "gelu_erf" is exact; "geglu": gated
    hidden_dropout_prob: float = 0.0
    attention_probs_dropout_prob: float = 0.0
    max_position_embeddings: int = 512
    type_vocab_size: int = 2
    initializer_range: float = 0.02  # standard deviation of the truncated normal
    # Sublayers that the layers of a group share (paper, section 4.5): "all",
    # only "attention", only "ffn", or "none" (every layer has its own).
    parameter_sharing: str = "all"
    # Map the embeddings even where E = H, as Hugging Face's models do.
    always_map_embeddings: bool = False
    # "learned": a table of positions; "rotary": attention turns queries and keys
    # (arXiv 2104.09864).
    position_embedding_type: str = "learned"
    # Layer norm after each sum ("post"), or of each function's input and at the end
    # ("pre"), with smaller initial output projections (arXiv 2002.04745).
    norm: str = "post"
    use_bias: bool = True  # of the projections and norms of the blocks
    # In local blocks tokens see others up to half of it away; None: all are global.
    local_attention_window: int | None = None
    global_attention_every: int = 3  # with a window, the blocks 0, n, 2 n, … are global
    depth_adapter_rank: int = 0  # of each block's addition to shared products
    layer_norm_eps: float = LAYER_NORM_EPS
    # Whether the scores of masked tokens are products with the table of words, and not
    # with a table of their own.
    tie_word_embeddings: bool = True
    # RoBERTa: the id of padding, which has no position; tokens' positions follow it.
    padding_idx: int | None = None

    def __post_init__(self):
        switches = ("always_map_embeddings", "use_bias", "tie_word_embeddings")
        self._check_fields(_SIZES, switches)
        check_choice("hidden_act", self.hidden_act, ACTIVATIONS)
        if self.hidden_size % self.num_attention_heads:
            raise UserError(
                f"hidden_size ({self.hidden_size}) must be a multiple of "
                f"num_attention_heads ({self.num_attention_heads})."
            )
        self._check_blocks()
        self._check_adapter_rank()
        self._check_roberta()

    def _check_blocks(self):
        check_choice("position_embedding_type", self.position_embedding_type, POSITIONS)
        check_choice("norm", self.norm, NORMS)
        self._check_sizes(("global_attention_every",))
        if self.local_attention_window is not None:
            self._check_sizes(("local_attention_window",))
        elif self.global_attention_every != _OFFICIAL_BLOCKS["global_attention_every"]:
            raise UserError(
                f"global_attention_every is {self.global_attention_every}, but without "
                "local_attention_window all blocks are global; set that, too."
            )
        if self.position_embedding_type == "rotary" and self.head_size % 2:
            raise UserError(
                f"position_embedding_type 'rotary' turns pairs of elements, but a head "
                f"has {self.head_size} (hidden_size / num_attention_heads); make it "
                "even."
            )

    def _check_adapter_rank(self):
        """Refuses a rank that is full, or for which layers share no product."""
        rank = self.depth_adapter_rank
        largest = min(self.hidden_size, self.intermediate_size)
        self._check(
            "depth_adapter_rank",
            type(rank) is int and 0 <= rank <= largest,
            f"an integer from 0 to {largest}, the smaller of hidden_size and "
            "intermediate_size",
        )
        own_layers = self.num_hidden_layers == self.num_hidden_groups
        if rank and (self.parameter_sharing == "none" or own_layers):
            raise UserError(
                f"depth_adapter_rank is {rank}, but no two layers share a product that "
                "adapters could tell apart; set it to 0, or let layers share."
            )

    def _check_roberta(self):
        epsilon, padding = self.layer_norm_eps, self.padding_idx
        fits = type(epsilon) is float and 0 < epsilon < 1
        self._check("layer_norm_eps", fits, "a number between 0 and 1")
        is_id = type(padding) is int and 0 <= padding < self.vocab_size
        expected = f"the id of padding, below vocab_size ({self.vocab_size}), or null"
        self._check("padding_idx", padding is None or is_id, expected)

    @property
    def head_size(self) -> int:
        """Width of one attention head."""
        return self.hidden_size // self.num_attention_heads

    @property
    def is_gated(self) -> bool:
        """True where the feed-forward layer has a third projection, its gate."""
        return self.hidden_act in GATED_ACTIVATIONS

    @property
    def head_act(self) -> str:
        """The activation of heads, where nothing is gated; RoBERTa's is always one."""
        if self.is_roberta:
            return "gelu_erf"
        return GATED_ACTIVATIONS.get(self.hidden_act, self.hidden_act)

    def require_official_blocks(self, reader, takes=()):
        """Refuses blocks that a `reader` does not have; `takes` names fields it has."""
        known = {**_OFFICIAL_BLOCKS, **_MOST_MODELS}
        known = {name: value for name, value in known.items() if name not in takes}
        found = {name: getattr(self, name) for name in known}
        changed = [f"{n}={value}" for n, value in found.items() if value != known[n]]
        if self.is_gated:
            changed.append(f"hidden_act={self.hidden_act}")
        if changed:
            raise UserError(
                f"{reader} cannot hold blocks with {', '.join(changed)}; leave the "
                "model in a model directory, or train one with official blocks."
            )

    @property
    def is_roberta(self) -> bool:
        """True if positions, rows and heads are RoBERTa's."""
        return self.padding_idx is not None

    @property
    def row_layout(self) -> RowLayout:
        """Layout of the texts that the models read, a `RowLayout`."""
        if self.is_roberta:
            return TWO_SEPARATORS
        return CLS_FIRST if self.type_vocab_size > 1 else ONE_SEGMENT

    @property
    def position_rows(self) -> int:
        """Rows of the table of positions: RoBERTa's first ones are of no token."""
        first = self.padding_idx + 1 if self.is_roberta else 0
        return first + self.max_position_embeddings

    @property
    def has_embedding_mapping(self) -> bool:
        """True where a projection leads from the embeddings to the hidden size."""
        return self.always_map_embeddings or self.embedding_size != self.hidden_size

    @classmethod
    def released(cls, name: str, **changes: Any) -> "Self":
        """Returns a released size, as "base_v2" or "xxlarge_zh", with `changes`."""
        check_choice("released size", name, sorted(RELEASED_SIZES))
        return cls.from_dict(
            {**RELEASED_SIZES[name], **changes}, f"released({name!r}, …)"
        )

    def to_json_file(self, path: str | os.PathLike) -> None:
        """Writes a file that the official code reads.

        The fields that the official code does not know are left out where they
        have its value.
        """
        values = self.to_dict()
        for name, official in _OFFICIAL_VALUES.items():
            if values[name] == official:
                del values[name]
        write_json(path, values)


def _released_sizes():
    """Returns the released `albert_config.json`s; E = 128 and one group everywhere.

    Version 1 has dropout 0.1 except xxlarge, version 2 and Chinese have none. The
    released xlarge has 16 heads (the paper's rule H/64 would give 32); Chinese
    xxlarge has 16 as well, and the Chinese models use relu.
    """
    english = {  # H, layers, heads, intermediate
        "base": (768, 12, 12, 3072),
        "large": (1024, 24, 16, 4096),
        "xlarge": (2048, 24, 16, 8192),
        "xxlarge": (4096, 12, 64, 16384),
    }
    chinese = {**english, "xxlarge": (4096, 12, 16, 16384)}
    chinese_initializer_range = {"xlarge": 0.014, "xxlarge": 0.01}

    names = ("hidden_size", "num_hidden_layers", "num_attention_heads")
    names = (*names, "intermediate_size")
    sizes = {}
    for name, shape in english.items():
        dropout = 0.0 if name == "xxlarge" else 0.1
        common = {"vocab_size": 30000, **dict(zip(names, shape, strict=True))}
        sizes[f"{name}_v1"] = {**common, **dict.fromkeys(_PROBABILITIES, dropout)}
        sizes[f"{name}_v2"] = common
    for name, shape in chinese.items():
        sizes[f"{name}_zh"] = {
            "vocab_size": 21128,
            **dict(zip(names, shape, strict=True)),
            "hidden_act": "relu",
            "initializer_range": chinese_initializer_range.get(name, 0.02),
        }
    return sizes


RELEASED_SIZES = _released_sizes()
