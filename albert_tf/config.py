"""Configurations: the base class, and ALBERT's with its released sizes."""

import dataclasses
import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING
from typing import Any

from albert_tf.costs import albert as costs
from albert_tf.errors import UserError
from albert_tf.io.files import RECIPE_FOLDERS
from albert_tf.io.files import find_recipe
from albert_tf.io.files import read_json_object
from albert_tf.io.files import write_json
from albert_tf.io.near_misses import close_name
from albert_tf.io.near_misses import model_file
from albert_tf.row_layout import CLS_FIRST
from albert_tf.row_layout import ONE_SEGMENT
from albert_tf.row_layout import TWO_SEPARATORS
from albert_tf.row_layout import RowLayout

if TYPE_CHECKING:
    from typing_extensions import Self

LAYER_NORM_EPS = 1e-12
PARAMETER_SHARING = ("all", "attention", "ffn", "none")
GATED_ACTIVATIONS = {
    "geglu": "gelu",
    "geglu_erf": "gelu_erf",
    "reglu": "relu",
    "swiglu": "silu",
}
"""The gate's activation in a gated feed-forward layer, by `hidden_act`."""
ACTIVATIONS = (
    *("gelu", "relu", "linear", "tanh", "gelu_erf", "silu"),
    *GATED_ACTIVATIONS,
)
POSITIONS = ("learned", "rotary", "disentangled")
NORMS = ("post", "pre")
BIASED_PARTS = ("attention", "feed_forward", "norm", "head", "decoder")
"""Parts of a network whose biases `AlbertConfig.unbiased` can leave out."""
POOLED_TOKENS = ("first", "mean")
_SIZES = ("base", "large", "xlarge", "xxlarge")
RELEASED_SIZES = (
    *(f"{size}_{version}" for size in _SIZES for version in ("v1", "v2")),
    *(f"{size}_zh" for size in _SIZES),
)

_MOST_BLOCKS = 10_000  # the deepest network published has 1,000
_LONGEST_ROW = 512  # tokens, unless the model or its training gives a length
_SHORTEST_ROW = 5  # two texts of a token each, and the special tokens


class ModelConfig:
    """A frozen dataclass for the fields of a JSON file, checked on construction.

    `int` fields must be positive, or at least their `smallest`; `float` fields must be
    at least 0 and below 1.
    """

    # The name of the file in model directories and beside official checkpoints.
    file_name = None
    # The fields that are always written; others only if they differ from their
    # defaults.
    official_keys = ()
    # Keys of published files that no public code reads.
    inert_keys = frozenset()
    # The allowed values, by name of a field.
    choices = {"parameter_sharing": PARAMETER_SHARING}
    # The smallest allowed integers by name of a field.
    smallest = {}
    # The name of the field with the number of layers.
    depth_field = "num_hidden_layers"
    # The fields with the dropout rates inside the encoder.
    dropout_fields = ()
    # The module that computes a config's costs, like `albert_tf.costs.albert`, or None.
    costs = None
    # The row layout that the models read.
    row_layout = CLS_FIRST
    # Where blocks normalise; see `AlbertConfig`.
    norm = "post"
    is_gated = False
    is_disentangled = False
    norms_first_input = True
    depth_adapter_rank = 0
    layer_norm_eps = LAYER_NORM_EPS

    def __post_init__(self):
        for field in dataclasses.fields(self):
            if field.name in self.choices:
                choices = self.choices[field.name]
                check_choice(field.name, getattr(self, field.name), choices)
            elif field.type is bool:
                is_bool = type(getattr(self, field.name)) is bool
                self._check(field.name, is_bool, "true or false")
            elif field.type is float:
                self._check_float(field.name)
            elif field.type is int or (
                field.type == int | None and getattr(self, field.name) is not None
            ):
                self._check_integer(field.name)
        layers, count = self.depth_field, self.num_hidden_layers
        if count * self.inner_group_num > _MOST_BLOCKS:
            raise UserError(
                f"{layers} ({count}) times inner_group_num ({self.inner_group_num}) "
                f"must be at most {_MOST_BLOCKS:,}."
            )
        if self.num_hidden_groups > count:
            raise UserError(
                f"num_hidden_groups ({self.num_hidden_groups}) must be at most "
                f"{layers} ({count})."
            )

    def _check(self, name, fits, expected):
        """Raises a `UserError` unless the value of the field `name` fits."""
        if not fits:
            value = getattr(self, name)
            raise UserError(f"{name} must be {expected}, got {value!r}.")

    def _check_float(self, name):
        value = getattr(self, name)
        is_number = type(value) in (int, float)
        if name.endswith("rotary_base"):
            fits = is_number and 1 <= value <= sys.float_info.max
            self._check(name, fits, "a finite number of at least 1")
        elif name == "initializer_range":
            fits = is_number and 0 <= value <= sys.float_info.max
            self._check(name, fits, "finite and at least 0")
        else:
            self._check(name, is_number and 0 <= value < 1, "in [0, 1)")

    def _check_integer(self, name):
        value, least = getattr(self, name), self.smallest.get(name, 1)
        expected = f"an integer from {least} to 2**31 - 1"
        if least == 1:
            expected = "a positive integer below 2**31"
        fits = type(value) is int and least <= value < 2**31  # ids are int32
        self._check(name, fits, expected)

    def has_bias(self, part, in_block=True):
        """Returns whether a part, one of `BIASED_PARTS`, of the network has biases."""
        return True

    def group_of_layer(self, layer):
        """Returns the group of a layer.

        The arithmetic is in integers: the official `int(layer / layers * groups)`
        rounds layer 15 of 22, with 22 groups, into group 14.
        """
        return layer * self.num_hidden_groups // self.num_hidden_layers

    def layer_schedule(self):
        """Lists each layer's blocks as (attention key, feed-forward key).

        A key "g_j" names the parameters of inner block j of group g; if layers share
        nothing, g counts layers.
        """
        share_attention = self.parameter_sharing in ("all", "attention")
        share_feed_forward = self.parameter_sharing in ("all", "ffn")

        def layer_blocks(layer):
            group = self.group_of_layer(layer)
            attention_group = group if share_attention else layer
            feed_forward_group = group if share_feed_forward else layer
            return tuple(
                (f"{attention_group}_{inner}", f"{feed_forward_group}_{inner}")
                for inner in range(self.inner_group_num)
            )

        return tuple(layer_blocks(layer) for layer in range(self.num_hidden_layers))

    def adapted_products(self):
        """Lists the projections that blocks share and that get depth adapters.

        Returns:
            `{sublayer: {projection: (inputs, outputs)}}`; empty without adapters.
        """
        if not self.depth_adapter_rank:
            return {}
        products = self.block_products()
        if self.parameter_sharing == "all":
            return products
        part = {"attention": "attention", "ffn": "feed_forward"}[self.parameter_sharing]
        return {part: products[part]}

    def block_products(self):
        """Lists a block's products, `{sublayer: {projection: (inputs, outputs)}}`."""
        hidden, inner = self.hidden_size, self.intermediate_size
        names = ("query", "key", "value", "output_dense")
        attention = dict.fromkeys(names, (hidden, hidden))
        gate = {"gate": (hidden, inner)} if self.is_gated else {}
        feed_forward = {"intermediate": (hidden, inner), **gate}
        feed_forward["output_dense"] = (inner, hidden)
        return {"attention": attention, "feed_forward": feed_forward}

    def longest_row(self, wanted: int) -> int:
        """Returns `wanted` tokens, or the number of positions if that is smaller."""
        positions = self.max_position_embeddings
        return wanted if positions is None else min(wanted, positions)

    def row_length(self, asked: int | None, infos: list[dict]) -> int:
        """Returns the maximal number of tokens in a row.

        Args:
            asked: the user's `max_seq_length`, if any.
            infos: the models' training records, which decide if nothing is asked.
                Without either, the result is the number of positions, or 512 if there
                is no position table.

        Raises:
            UserError: see `check_row`.
        """
        longest = self.max_position_embeddings or _LONGEST_ROW
        told = min(info.get("max_seq_length", longest) for info in infos)
        length = told if asked is None else asked
        self.check_row("max_seq_length", length)
        return length

    def check_row(self, name: str, tokens: int) -> None:
        """Refuses a length, called `name`, that is too short or too long."""
        if tokens < _SHORTEST_ROW or self.longest_row(tokens) < tokens:
            positions = self.max_position_embeddings
            most = f"to {positions}, the number of positions of the model"
            raise UserError(
                f"{name}={tokens}: expected {_SHORTEST_ROW} "
                f"{'or more' if positions is None else most}."
            )

    def with_dropout(self, rate: float) -> "Self":
        """Returns a copy with another dropout rate inside the encoder."""
        return dataclasses.replace(self, **dict.fromkeys(self.dropout_fields, rate))

    @classmethod
    def from_dict(
        cls, values: Mapping[str, Any], source: str = "the configuration"
    ) -> "Self":
        """Builds a config from official keys; errors name `source`.

        Raises:
            UserError: an unknown or missing key, or an invalid value.
        """
        fields = {field.name: field for field in dataclasses.fields(cls)}
        unknown = sorted(set(values) - set(fields) - cls.inert_keys)
        if unknown:
            meant = close_name(unknown[0], fields)
            hint = f"did you mean {meant}? Known" if meant else "known"
            raise UserError(
                f"{source} has the unknown key {unknown[0]!r}; {hint} keys are "
                f"{', '.join(sorted(fields))}."
            )
        for name, field in fields.items():
            if field.default is dataclasses.MISSING and name not in values:
                raise UserError(f"{source} lacks the key {name!r}.")
        try:
            return cls(**{k: v for k, v in values.items() if k in fields})
        except UserError as error:
            raise UserError(f"{source}: {error}") from error

    @classmethod
    def from_json_file(cls, path: str | os.PathLike) -> "Self":
        """Reads a file of official keys, such as `albert_config.json`.

        Raises:
            UserError: the file is missing, a folder or not a JSON object; or see
                `from_dict`.
        """
        path = find_recipe(path)
        if os.path.isdir(path):
            found = model_file(path, cls.file_name)
            meant = f"did you mean {found}?" if found else "name a JSON file."
            raise UserError(f"{os.fspath(path)} is a folder; {meant}")
        return cls.from_dict(read_json_object(path), source=os.fspath(path))

    def to_dict(self) -> dict[str, Any]:
        """Returns the fields as a plain dict; `from_dict` reads it back."""
        return dataclasses.asdict(self)

    def to_json_file(self, path: str | os.PathLike) -> None:
        """Writes a file that the official code reads.

        Fields that the official code does not know are written only if they differ
        from their defaults.
        """
        defaults = {f.name: f.default for f in dataclasses.fields(self)}
        values = {
            name: value
            for name, value in self.to_dict().items()
            if name in self.official_keys or value != defaults[name]
        }
        write_json(path, values)


def read_config(path, classes):
    """Reads a configuration file as the class in `classes` with most of its keys.

    Raises:
        UserError: see `ModelConfig.from_json_file`.
    """
    values = {} if os.path.isdir(path) else read_json_object(find_recipe(path))

    def held(config_class):
        return sum(field.name in values for field in dataclasses.fields(config_class))

    return max(classes, key=held).from_json_file(path)


def check_choice(name, value, choices):
    """Raises a `UserError` unless `value`, of the field `name`, is one of `choices`."""
    if value not in choices:
        meant = close_name(value, choices) if isinstance(value, str) else None
        hint = f"; did you mean {meant}?" if meant else "."
        expected = ", ".join(choices)
        raise UserError(f"{name} must be one of {expected}, got {value!r}{hint}")


@dataclasses.dataclass(frozen=True)
class AlbertConfig(ModelConfig):
    """The fields of the official `albert_config.json`, and extensions.

    The defaults give the official architecture. The constructor checks every value.

    Attributes:
        vocab_size: number of token ids.
        embedding_size: E; the tables are E wide, then mapped to H.
        hidden_size: H, a multiple of `num_attention_heads`.
        num_hidden_layers: layers computed, whatever is shared.
        num_hidden_groups: contiguous runs of layers that share parameters.
        num_attention_heads: heads of each block's attention.
        intermediate_size: width of the feed-forward layer.
        inner_group_num: distinct blocks run one after another in a layer.
        hidden_act: "gelu" (the tanh approximation), "gelu_erf" (exact), "relu", "silu",
            "tanh", "linear", or gated: "geglu", "geglu_erf", "reglu", "swiglu".
        hidden_dropout_prob: dropout of embeddings and of each sublayer's output.
        attention_probs_dropout_prob: dropout of attention probabilities.
        max_position_embeddings: the most tokens of a row.
        type_vocab_size: number of segment ids; 0: no segments.
        initializer_range: standard deviation of the truncated normal.
        parameter_sharing: sublayers that the layers of a group share (paper, section
            4.5): "all", only "attention", only "ffn", or "none" (every layer has its
            own).
        always_map_embeddings: map the embeddings even if E = H, as Hugging Face's
            models do.
        position_embedding_type: "learned", a table of positions; "rotary", attention
            rotates queries and keys (arXiv 2104.09864); "disentangled", attention
            scores distances, too (arXiv 2006.03654).
        position_buckets: with disentangled positions, vectors on each side, half of
            them of single distances; None: a vector for each distance.
        norm: layer norm after each sum ("post"), or on each function's input and at the
            end ("pre"), with smaller initial output projections (arXiv 2002.04745).
        use_bias: biases in the projections and norms of the blocks.
        unbiased: further parts without biases, of `BIASED_PARTS`.
        norms_first_input: whether the norm "pre" precedes the first block.
        local_attention_window: in local blocks, tokens see others up to half a window
            away; None: all blocks are global.
        global_attention_every: with a window, the blocks 0, n, 2 n, … are global.
        rotary_base: base of the periods of rotary positions.
        local_rotary_base: the same in local blocks.
        depth_adapter_rank: rank of each block's addition to shared projections; 0:
            none.
        layer_norm_eps: what layer norms add to the variance.
        tie_word_embeddings: the word embedding table scores masked tokens, not a table
            of its own.
        padding_idx: RoBERTa: the id of padding, after which the positions of tokens
            begin; None: another architecture.
        is_xlm: whether the RoBERTa is Hugging Face's XLM-R.
        pooled_tokens: what the pooler reads, the "first" token or the "mean" of all.
        pooler_act: activation of the pooler.
        pooler_norm: whether a norm follows the pooler; if so, as in ModernBERT, it also
            precedes the classifiers of tokens.

    Example:
        config = AlbertConfig.from_json_file("albert_config.json")
        config = AlbertConfig.released("base_v2", hidden_dropout_prob=0.1)

    Raises:
        UserError: a value that is out of range or does not fit another one.
    """

    file_name = "albert_config.json"
    official_keys = (
        "vocab_size",
        "embedding_size",
        "hidden_size",
        "num_hidden_layers",
        "num_hidden_groups",
        "num_attention_heads",
        "intermediate_size",
        "inner_group_num",
        "hidden_act",
        "hidden_dropout_prob",
        "attention_probs_dropout_prob",
        "max_position_embeddings",
        "type_vocab_size",
        "initializer_range",
    )
    inert_keys = frozenset(
        {
            "down_scale_factor",
            "gap_size",
            "layers_to_keep",
            "net_structure_type",
            "num_memory_blocks",
        }
    )
    choices = {
        **ModelConfig.choices,
        "hidden_act": ACTIVATIONS,
        "norm": NORMS,
        "pooled_tokens": POOLED_TOKENS,
        "pooler_act": tuple(a for a in ACTIVATIONS if a not in GATED_ACTIVATIONS),
        "position_embedding_type": POSITIONS,
    }
    smallest = {
        "depth_adapter_rank": 0,
        "padding_idx": 0,
        "position_buckets": 2,
        "type_vocab_size": 0,
    }
    dropout_fields = ("hidden_dropout_prob", "attention_probs_dropout_prob")
    costs = costs

    vocab_size: int
    embedding_size: int = 128
    hidden_size: int = 4096
    num_hidden_layers: int = 12
    num_hidden_groups: int = 1
    num_attention_heads: int = 64
    intermediate_size: int = 16384
    inner_group_num: int = 1
    hidden_act: str = "gelu"
    hidden_dropout_prob: float = 0.0
    attention_probs_dropout_prob: float = 0.0
    max_position_embeddings: int = 512
    type_vocab_size: int = 2
    initializer_range: float = 0.02
    parameter_sharing: str = "all"
    always_map_embeddings: bool = False
    position_embedding_type: str = "learned"
    position_buckets: int | None = None
    norm: str = "post"
    use_bias: bool = True
    unbiased: tuple[str, ...] = ()
    norms_first_input: bool = True
    local_attention_window: int | None = None
    global_attention_every: int = 3
    rotary_base: float = 10_000.0
    local_rotary_base: float = 10_000.0
    depth_adapter_rank: int = 0
    layer_norm_eps: float = LAYER_NORM_EPS
    tie_word_embeddings: bool = True
    padding_idx: int | None = None
    is_xlm: bool = False
    pooled_tokens: str = "first"
    pooler_act: str = "tanh"
    pooler_norm: bool = False

    def __post_init__(self):
        super().__post_init__()
        if self.hidden_size % self.num_attention_heads:
            raise UserError(
                f"hidden_size ({self.hidden_size}) must be a multiple of "
                f"num_attention_heads ({self.num_attention_heads})."
            )
        if self.local_attention_window is None and self.global_attention_every != 3:
            raise UserError(
                f"global_attention_every is {self.global_attention_every}, but without "
                "local_attention_window all blocks are global; set that, too."
            )
        if self.position_embedding_type == "rotary" and self.head_size % 2:
            raise UserError(
                f"position_embedding_type 'rotary' turns pairs of elements, but a head "
                f"has {self.head_size} (hidden_size / num_attention_heads); make "
                "it even."
            )
        self._check_adapter_rank()
        self._check_parts()
        expected = f"the id of padding, below vocab_size ({self.vocab_size}), or null"
        self._check("padding_idx", (self.padding_idx or 0) < self.vocab_size, expected)

    def _check_parts(self):
        """Makes a tuple of `unbiased`; refuses parts and blocks that there are not."""
        parts = self.unbiased
        fits = isinstance(parts, list | tuple) and all(p in BIASED_PARTS for p in parts)
        self._check("unbiased", fits, f"a list of {', '.join(BIASED_PARTS)}")
        object.__setattr__(self, "unbiased", tuple(parts))
        has_own = self.norm == "pre" and self.parameter_sharing == "none"
        if not (self.norms_first_input or has_own):
            raise UserError(
                "norms_first_input is false, but a block without the norm before it "
                "needs norm 'pre' and parameter_sharing 'none'; set those, too."
            )

    def _check_adapter_rank(self):
        """Refuses a full rank, and adapters if layers share no projection."""
        rank = self.depth_adapter_rank
        largest = min(self.hidden_size, self.intermediate_size)
        self._check(
            "depth_adapter_rank",
            rank <= largest,
            f"an integer from 0 to {largest}, the smaller of hidden_size and "
            "intermediate_size",
        )
        own_layers = self.num_hidden_layers == self.num_hidden_groups
        if rank and (self.parameter_sharing == "none" or own_layers):
            raise UserError(
                f"depth_adapter_rank is {rank}, but no two layers share a product that "
                "adapters could tell apart; set it to 0, or let layers share."
            )

    def has_bias(self, part, in_block=True):
        """Returns whether a part of the network has biases.

        Args:
            part: one of `BIASED_PARTS`.
            in_block: whether it is in a block, where `use_bias` counts, too.
        """
        return part not in self.unbiased and (self.use_bias or not in_block)

    @property
    def head_size(self) -> int:
        """Width of one attention head."""
        return self.hidden_size // self.num_attention_heads

    @property
    def is_gated(self) -> bool:
        """True if the feed-forward layer has a third projection, the gate."""
        return self.hidden_act in GATED_ACTIVATIONS

    @property
    def head_act(self) -> str:
        """The activation of heads, which are never gated; RoBERTa's is fixed."""
        if self.is_roberta:
            return "gelu_erf"
        # ModernBERT's and ELECTRA's heads have one activation.
        is_of_pooler = self.pooler_act == "gelu_erf" and not self.is_disentangled
        if self.pooler_norm or is_of_pooler:
            return self.pooler_act
        return self.block_act

    @property
    def block_act(self) -> str:
        """The activation of the blocks, or of their gates."""
        return GATED_ACTIVATIONS.get(self.hidden_act, self.hidden_act)

    def unofficial_blocks(self, takes=()):
        """Lists, as "name=value", fields of blocks that the official code lacks.

        Args:
            takes: names of fields to leave out.
        """
        # Checkpoints can express these two.
        takes = (*takes, "parameter_sharing", "always_map_embeddings")
        changed = [
            f"{field.name}={getattr(self, field.name)}"
            for field in dataclasses.fields(self)
            if field.name not in (*self.official_keys, *takes)
            and getattr(self, field.name) != field.default
        ]
        if self.is_gated and "hidden_act" not in takes:
            changed.append(f"hidden_act={self.hidden_act}")
        if not self.type_vocab_size and "type_vocab_size" not in takes:
            changed.append("type_vocab_size=0")
        return changed

    @property
    def is_roberta(self) -> bool:
        """True if positions, rows and heads are RoBERTa's."""
        return self.padding_idx is not None

    @property
    def is_disentangled(self) -> bool:
        """True if attention scores distances, like DeBERTa's."""
        return self.position_embedding_type == "disentangled"

    @property
    def local_block(self) -> int:
        """Number of tokens in a block of local attention: half a window."""
        return max(self.local_attention_window // 2, 1)

    def is_long(self, tokens):
        """Returns whether a row of `tokens`, an int or a scalar, gains from blocks."""
        return tokens > 4 * self.local_block

    @property
    def distances(self) -> int:
        """Number of vectors of distances."""
        half = self.position_buckets or self.max_position_embeddings
        return 2 * half * self.is_disentangled

    @property
    def pooler_is_of_head(self) -> bool:
        """True if checkpoints hold the pooler only together with a classifier."""
        return self.pooler_norm or self.pooler_act != "tanh" or self.is_disentangled

    @property
    def row_layout(self) -> RowLayout:
        """Layout of the texts that the models read, a `RowLayout`."""
        if self.is_roberta:
            return TWO_SEPARATORS
        return CLS_FIRST if self.type_vocab_size > 1 else ONE_SEGMENT

    @property
    def position_rows(self) -> int:
        """Rows of the position table; RoBERTa's first ones belong to no token."""
        first = self.padding_idx + 1 if self.is_roberta else 0
        return first + self.max_position_embeddings

    @property
    def has_embedding_mapping(self) -> bool:
        """True if a projection leads from the embeddings to the hidden size."""
        return self.always_map_embeddings or self.embedding_size != self.hidden_size

    @classmethod
    def released(cls, name: str, **changes: Any) -> "Self":
        """Returns a released size, such as "base_v2" or "xxlarge_zh", with `changes`.

        Version 1 has dropout 0.1, except xxlarge; version 2 and the Chinese models have
        none. The released xlarge has 16 heads (the paper's rule H/64 would give 32).
        """
        check_choice("released size", name, sorted(RELEASED_SIZES))
        paths = [folder / "albert" / f"{name}.json" for folder in RECIPE_FOLDERS]
        values = read_json_object(next(path for path in paths if path.is_file()))
        return cls.from_dict({**values, **changes}, f"released({name!r}, …)")
