"""XLNet's configuration and tensors in official and Hugging Face's checkpoints."""

import dataclasses
import re
import types

import numpy as np

from albert_tf.errors import UserError
from albert_tf.families.base import THEIR_ACTIVATIONS
from albert_tf.families.base import ModelFamily
from albert_tf.families.base import as_float32
from albert_tf.families.base import check_config
from albert_tf.families.base import our_activation
from albert_tf.families.base import turned
from albert_tf.io.foreign import check_settings
from albert_tf.xlnet import names
from albert_tf.xlnet.config import XLNetConfig

# This project's name, Hugging Face's name and its default there.
_KEYS = (
    ("n_token", "vocab_size", 32000),
    ("d_model", "d_model", 1024),
    ("n_layer", "n_layer", 24),
    ("n_head", "n_head", 16),
    ("d_inner", "d_inner", 4096),
    ("dropout", "dropout", 0.1),
    ("mem_len", "mem_len", 512),
    ("reuse_len", "reuse_len", 0),
    ("clamp_len", "clamp_len", -1),
    ("bi_data", "bi_data", False),
    ("initializer_range", "initializer_range", 0.02),
)
# With other values, Hugging Face's model computes another function.
_REQUIRED = {"attn_type": "bi", "layer_norm_eps": 1e-12}
# Read elsewhere; or about memory, which single texts lack, and causal attention.
_READ = (
    *("d_head", "ff_activation", "same_length", "untie_r"),
    *("use_mems", "use_mems_eval", "use_mems_train", "start_n_top", "end_n_top"),
    *("summary_type", "summary_use_proj", "summary_activation", "summary_last_dropout"),
    "summary_first_dropout",
)
_SPECIAL_TOKENS = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 5}
_TASK = re.compile(r"model/(?:classification|regression)_[^/]+/")


class XLNetFamily(ModelFamily):
    """The models with an XLNet encoder."""

    config_class = XLNetConfig
    config_file = XLNetConfig.file_name
    huggingface_type = "xlnet"
    encoder = "transformer"
    title = "XLNet"
    names = names.NAMES
    tied = {"lm_loss.weight": "transformer.word_embedding.weight"}
    known_heads = ()
    alone = types.MappingProxyType({"mem_len": 0, "reuse_len": 0, "bi_data": False})

    def from_official(self, tensors):
        """Removes the task's name from the official classifier's scope."""
        return {_TASK.sub("model/classification/", n): t for n, t in tensors.items()}

    def to_official(self, config, tensors):
        """Converts to one layer per block, and an embedding table without factors.

        Raises:
            UserError: the official code does not have the activation.
        """
        if config.ff_activation == "gelu_erf":
            raise UserError(
                "The official XLNet has no exact GELU, which is this model's "
                "ff_activation='gelu_erf'; write it as a model directory or for "
                "Hugging Face."
            )
        return unshared(config, tensors)

    def config_from_huggingface(self, entries, path):
        fixed = {key: (value,) for key, value in _REQUIRED.items()}
        check_config(entries, path, {*(key for _, key, _ in _KEYS), *_READ}, fixed)
        ours = {name: entries.get(key, value) for name, key, value in _KEYS}
        for name in ("mem_len", "reuse_len"):
            ours[name] = 0 if ours[name] is None else ours[name]
        width, heads = ours["d_model"], ours["n_head"]
        if type(width) is type(heads) is int and heads > 0:
            if width % heads:
                raise UserError(
                    f"{path} sets d_model to {width} and n_head to {heads}; the width "
                    "must be a multiple of the heads."
                )
            ours["d_head"] = width // heads
            check_settings(entries, path, entries, {"d_head": (ours["d_head"],)})
        ours["dropatt"] = ours["dropout"]  # Hugging Face has only one
        ours["ff_activation"] = our_activation(entries, "ff_activation", "gelu", path)
        # Hugging Face's model never ties attention biases, whatever the file says.
        return XLNetConfig.from_dict({"d_head": None, **ours}, source=path)

    def tensors_from_huggingface(self, tensors, head_names, path, is_tied=True):
        others, stacked = {}, {}
        for name, tensor in tensors.items():
            if place := names.stacked_name(name):
                official, layer = place
                rows = stacked.setdefault(official, {})
                rows[layer] = as_float32(tensor, name, path)
            else:
                others[name] = tensor
        found = super().tensors_from_huggingface(others, head_names, path)
        return found | {n: _stack(rows, n, path) for n, rows in stacked.items()}

    def to_huggingface(self, config, tensors, head_names, architecture=None):
        """Converts like `to_official`; repeats tied biases for each layer.

        Raises:
            UserError: Hugging Face's model cannot have this head width.
        """
        if config.d_head * config.n_head != config.d_model:
            raise UserError(
                f"Hugging Face's XLNet has heads of the width d_model / n_head, but "
                f"{config.n_head} heads of d_head={config.d_head} make "
                f"{config.n_head * config.d_head}, not d_model={config.d_model}; write "
                "the model with official TF1 names or as a model directory."
            )
        config, tensors = unshared(config, tensors)
        theirs = {}
        for official, tensor in tensors.items():
            if official in names.STACKED:
                alike = official in names.BIASES and not config.untie_r
                rows = [tensor] * config.n_layer if alike else tensor
                for i, row in enumerate(rows):
                    theirs[names.huggingface_stacked_name(official, i)] = row
                continue
            name = self.huggingface_name(official, head_names)
            theirs[name] = turned(official, tensor)
        entries = {
            **_REQUIRED,
            "tie_word_embeddings": True,
            **{key: getattr(config, name) for name, key, _ in _KEYS},
            "d_head": config.d_head,
            "ff_activation": THEIR_ACTIVATIONS[config.ff_activation],
            "untie_r": True,
            **_SPECIAL_TOKENS,
        }
        return entries, theirs


def _sets(config):
    """Numbers each block's set of parameters, for each part of a block."""
    blocks = [block for layer in config.layer_schedule() for block in layer]
    attention, feed_forward = zip(*blocks, strict=True)
    return {
        part: [list(dict.fromkeys(keys)).index(key) for key in keys]
        for part, keys in (("rel_attn", attention), ("ff", feed_forward))
    }


def unshared(config, tensors):
    """Converts to a plain XLNet of the same function, without sharing or factors.

    Args:
        config: an `XLNetConfig`.
        tensors: arrays by official name.

    Returns:
        (config, tensors) with one layer per block.
    """
    plain = dataclasses.replace(
        config,
        n_layer=config.blocks,
        embedding_size=None,
        parameter_sharing="none",
        num_hidden_groups=1,
        inner_group_num=1,
    )
    sets = _sets(config)
    found = {}
    for name, tensor in tensors.items():
        place = names.layer_of(name)
        if place:
            old, part, rest = place
            for new, of_block in enumerate(sets[part]):
                if of_block == old:
                    found[names.layer_scope(new, part) + rest] = tensor
        elif name == names.SEGMENTS or (name in names.BIASES and config.untie_r):
            found[name] = tensor[np.array(sets["rel_attn"])]
        elif name == names.TABLE and names.MAPPING in tensors:
            found[name] = tensor @ tensors[names.MAPPING]
        elif name != names.MAPPING:
            found[name] = tensor
    return plain, found


def _stack(rows, official, path):
    """Stacks the layers' tensors in the order of their layer numbers."""
    shapes = {row.shape for row in rows.values()}
    if sorted(rows) != list(range(len(rows))) or len(shapes) > 1:
        raise UserError(
            f"{path} holds {official.split('/')[-1]} for the layers "
            f"{', '.join(map(str, sorted(rows)))}; expected one for each layer from 0, "
            "all of the same shape. The checkpoint is damaged."
        )
    return np.stack([rows[i] for i in range(len(rows))])


XLNET = XLNetFamily()
