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
from albert_tf.row_layout import CLS_FIRST

if TYPE_CHECKING:
    from typing_extensions import Self

LAYER_NORM_EPS = 1e-12
PARAMETER_SHARING = ("all", "attention", "ffn", "none")

_LARGEST = sys.float_info.max
_MOST_BLOCKS = 10_000  # the deepest network published has 1,000
_LONGEST_ROW = 512  # tokens, where neither the model nor its training says more
_SHORTEST_ROW = 5  # two texts of a token each, and the special tokens


class ModelConfig:
    """A frozen dataclass of the fields of a JSON file, checked on construction."""

    # The name of the file in model directories and beside official checkpoints.
    file_name = None
    # The fields of the rates of dropout inside the encoder.
    dropout_fields = ()
    # Keys of published files that no public code acts on.
    inert_keys = frozenset()
    # The module that counts parameters, operations and memory of a config, as
    # `albert_tf.costs.albert`; None: nothing does.
    costs = None
    # Layout of the texts that the models read.
    row_layout = CLS_FIRST
    # The block; see `AlbertConfig`.
    norm = "post"
    use_bias = True
    is_gated = False
    depth_adapter_rank = 0
    # What layer norms add to the variance.
    layer_norm_eps = LAYER_NORM_EPS

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

    def row_length(self, asked: int | None, infos: list[dict]) -> int:
        """Returns the tokens of a row that models are to read at most.

        Args:
            asked: `max_seq_length` of the user, if any.
            infos: what the trainings of the models recorded, which counts where
                nothing is asked; else all positions count, or 512 tokens where there
                is no table of them.

        Raises:
            UserError: as `check_row`.
        """
        longest = self.max_position_embeddings or _LONGEST_ROW
        told = min(info.get("max_seq_length", longest) for info in infos)
        length = told if asked is None else asked
        self.check_row("max_seq_length", length)
        return length

    def check_row(self, name: str, tokens: int) -> None:
        """Refuses a length, called `name`, without room or beyond the positions."""
        if tokens < _SHORTEST_ROW or self.longest_row(tokens) < tokens:
            positions = self.max_position_embeddings
            most = f"to {positions}, the number of positions of the model"
            raise UserError(
                f"{name}={tokens}: expected {_SHORTEST_ROW} "
                f"{'or more' if positions is None else most}."
            )

    def _check(self, name, fits, expected):
        """Refuses the value of a field where it does not fit: a `UserError`."""
        if not fits:
            value = getattr(self, name)
            raise UserError(f"{name} must be {expected}, got {value!r}.")

    def _check_sizes(self, names):
        """Refuses fields that are no positive int32, as ids are."""
        for name in names:
            value = getattr(self, name)
            fits = type(value) is int and 1 <= value < 2**31
            self._check(name, fits, "a positive integer below 2**31")

    def _check_fields(self, sizes, switches, layers="num_hidden_layers"):
        """Refuses values of the fields that all architectures have, as by `_check`.

        Args:
            sizes, switches: names of fields with positive integers, and with booleans.
            layers: the name of the field with the depth.
        """
        self._check_sizes(sizes)
        for name in self.dropout_fields:
            rate = getattr(self, name)
            fits = type(rate) in (int, float) and 0 <= rate < 1
            self._check(name, fits, "in [0, 1)")
        deviation = self.initializer_range
        fits = type(deviation) in (int, float) and 0 <= deviation <= _LARGEST
        self._check("initializer_range", fits, "finite and at least 0")
        for name in switches:
            self._check(name, type(getattr(self, name)) is bool, "true or false")
        check_choice("parameter_sharing", self.parameter_sharing, PARAMETER_SHARING)
        count = self.num_hidden_layers
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


def check_choice(name, value, choices):
    """Refuses a value of the field `name` that is none of `choices`: a `UserError`."""
    if value not in choices:
        meant = isinstance(value, str) and close_name(value, choices)
        hint = f"; did you mean {meant}?" if meant else "."
        expected = ", ".join(choices)
        raise UserError(f"{name} must be one of {expected}, got {value!r}{hint}")
