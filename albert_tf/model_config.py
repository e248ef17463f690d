"""Common parts of the configurations of all architectures."""

import dataclasses
import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING
from typing import Any

from albert_tf.errors import UserError
from albert_tf.io.files import find_recipe
from albert_tf.io.files import read_json_object
from albert_tf.io.near_misses import close_name
from albert_tf.io.near_misses import model_file
from albert_tf.io.near_misses import of_configuration
from albert_tf.row_layout import CLS_FIRST

if TYPE_CHECKING:
    from typing_extensions import Self

LAYER_NORM_EPS = 1e-12
PARAMETER_SHARING = ("all", "attention", "ffn", "none")

_LARGEST = sys.float_info.max
_MOST_BLOCKS = 10_000  # the deepest network published has 1,000
_SHORTEST_ROW = 5  # two texts of a token each, and the special tokens


class ModelConfig:
    """A frozen dataclass of the fields of a JSON file, checked on construction."""

    # The name of the file in model directories and beside official checkpoints.
    file_name = None
    # The fields of the rates of dropout inside the encoder.
    dropout_fields = ()
    # Layout of the texts that the models read.
    row_layout = CLS_FIRST
    # The block; see `AlbertConfig`.
    norm = "post"
    use_bias = True
    is_gated = False
    depth_adapter_rank = 0
    # What layer norms add to the variance.
    layer_norm_eps = LAYER_NORM_EPS

    @classmethod
    def inert_keys(cls):
        """Lists keys of published files that no public code acts on."""
        return frozenset()

    def group_of_layer(self, layer):
        """Returns the group that layer `layer` belongs to.

        Integer arithmetic: the official `int(layer / layers * groups)` puts layer
        15 of 22 with 22 groups into group 14 by rounding.
        """
        return layer * self.num_hidden_groups // self.num_hidden_layers

    def layer_schedule(self):
        """Lists each layer's blocks as (attention key, feed-forward key).

        A key "g_j" names the parameters of inner block j of group g; where layers
        share nothing, g counts layers.
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
        """Lists the products that blocks share, if there are depth adapters.

        Returns:
            `{sublayer: {projection: (inputs, outputs)}}`; empty without adapters.
        """
        if not self.depth_adapter_rank:
            return {}
        hidden, inner = self.hidden_size, self.intermediate_size
        names = ("query", "key", "value", "output_dense")
        attention = dict.fromkeys(names, (hidden, hidden))
        gate = {"gate": (hidden, inner)} if self.is_gated else {}
        feed_forward = {"intermediate": (hidden, inner), **gate}
        feed_forward["output_dense"] = (inner, hidden)
        return {
            "all": {"attention": attention, "feed_forward": feed_forward},
            "attention": {"attention": attention},
            "ffn": {"feed_forward": feed_forward},
        }[self.parameter_sharing]

    def longest_row(self, wanted: int) -> int:
        """Returns `wanted` tokens, or the number of positions, if that is less."""
        positions = self.max_position_embeddings
        return wanted if positions is None else min(wanted, positions)

    def check_row(self, name: str, tokens: int) -> None:
        """Refuses a length, called `name`, without room or beyond the positions."""
        if tokens < _SHORTEST_ROW or self.longest_row(tokens) < tokens:
            positions = self.max_position_embeddings
            most = f"to {positions}, the number of positions of the model"
            raise UserError(
                f"{name}={tokens}: expected {_SHORTEST_ROW} "
                f"{'or more' if positions is None else most}."
            )

    def with_dropout(self, rate: float) -> "Self":
        """Returns this configuration with another dropout rate inside the encoder."""
        return dataclasses.replace(self, **dict.fromkeys(self.dropout_fields, rate))

    @classmethod
    def from_dict(
        cls, values: Mapping[str, Any], source: str = "the configuration"
    ) -> "Self":
        """Builds a config from official keys; `source` names them in errors.

        Raises:
            UserError: an unknown or missing key, or a bad value.
        """
        fields = {field.name: field for field in dataclasses.fields(cls)}
        unknown = sorted(set(values) - set(fields) - cls.inert_keys())
        if unknown:
            meant = _meant(unknown[0], fields)
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
            UserError: the file is missing, a folder or no JSON object; or see
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


def read_config(path, classes):
    """Reads a configuration file as the one of `classes` that has most of its keys.

    Raises:
        UserError: as `from_json_file`.
    """
    values = {} if os.path.isdir(path) else read_json_object(find_recipe(path))

    def held(config_class):
        return sum(field.name in values for field in dataclasses.fields(config_class))

    return max(classes, key=held).from_json_file(path)


def check_sizes(config, names):
    """Refuses fields that are no positive int32, as ids are: a `UserError`."""
    expected = "a positive integer below 2**31"
    for name in names:
        value = getattr(config, name)
        _check(name, value, type(value) is int and 1 <= value < 2**31, expected)


def check_probabilities(config, names):
    """Refuses fields that are no rates of dropout: a `UserError`."""
    for name in names:
        value = getattr(config, name)
        is_rate = type(value) in (int, float) and 0 <= value < 1
        _check(name, value, is_rate, "in [0, 1)")


def check_switches(config, names):
    """Refuses fields that are neither true nor false: a `UserError`."""
    for name in names:
        value = getattr(config, name)
        _check(name, value, type(value) is bool, "true or false")


def check_initializer_range(value):
    """Refuses a value that is no finite standard deviation: a `UserError`."""
    is_number = type(value) in (int, float) and 0 <= value <= _LARGEST
    _check("initializer_range", value, is_number, "finite and at least 0")


def _check(name, value, fits, expected):
    if not fits:
        raise UserError(f"{name} must be {expected}, got {value!r}.")


def check_choice(name, value, choices):
    """Refuses a value of the field `name` that is none of `choices`: a `UserError`."""
    if value not in choices:
        meant = _meant(value, choices)
        hint = f"; did you mean {meant}?" if meant else "."
        expected = ", ".join(choices)
        raise UserError(f"{name} must be one of {expected}, got {value!r}{hint}")


def _meant(name, choices):
    """Returns the choice that another library's or a mistyped name means, or None."""
    if not isinstance(name, str):
        return None
    meant = of_configuration(name)
    return meant if meant in choices else close_name(name, choices)


def check_layers(config, layers="num_hidden_layers"):
    """Refuses depths and groups that do not fit; a field `layers` holds the depth."""
    count = config.num_hidden_layers
    if count * config.inner_group_num > _MOST_BLOCKS:
        raise UserError(
            f"{layers} ({count}) times inner_group_num "
            f"({config.inner_group_num}) must be at most {_MOST_BLOCKS:,}."
        )
    if config.num_hidden_groups > count:
        raise UserError(
            f"num_hidden_groups ({config.num_hidden_groups}) must be at most "
            f"{layers} ({count})."
        )


def check_adapter_rank(config):
    """Refuses a `depth_adapter_rank` that is full, or for which there is no product."""
    rank = config.depth_adapter_rank
    largest = min(config.hidden_size, config.intermediate_size)
    if type(rank) is not int or not 0 <= rank <= largest:
        raise UserError(
            f"depth_adapter_rank must be an integer from 0 to {largest}, the smaller "
            f"of hidden_size and intermediate_size, got {rank!r}."
        )
    layers, groups = config.num_hidden_layers, config.num_hidden_groups
    if rank and (config.parameter_sharing == "none" or layers == groups):
        raise UserError(
            f"depth_adapter_rank is {rank}, but no two layers share a product that "
            "adapters could tell apart; set it to 0, or let layers share."
        )
