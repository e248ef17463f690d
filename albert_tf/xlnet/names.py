"""The variables of XLNet: their official names and Hugging Face's."""

import re

from albert_tf.families.base import NameTable
from albert_tf.families.base import layer_names

_SCOPE = "model/transformer"
TABLE = f"{_SCOPE}/word_embedding/lookup_table"
MAPPING = f"{_SCOPE}/word_embedding/mapping/kernel"
MASK_EMB = f"{_SCOPE}/mask_emb/mask_emb"
BIASES = tuple(f"{_SCOPE}/{name}" for name in ("r_w_bias", "r_r_bias", "r_s_bias"))
SEGMENTS = f"{_SCOPE}/seg_embed"
STACKED = (*BIASES, SEGMENTS)
"""Variables that official checkpoints stack, and Hugging Face stores per layer."""

_LAYER = re.compile(rf"{_SCOPE}/layer_(\d+)/(rel_attn|ff)/")
_THEIR_STACKED = re.compile(
    r"transformer\.layer\.(\d+)\.rel_attn\.(r_[wrs]_bias|seg_embed)"
)
_BLOCK, _THEIR_BLOCK = f"{_SCOPE}/layer_{{}}", "transformer.layer.{}"
NAMES = NameTable(
    [
        (TABLE, "transformer.word_embedding.weight"),
        (MASK_EMB, "transformer.mask_emb"),
        *(
            (f"{_BLOCK}/rel_attn/{name}/kernel", f"{_THEIR_BLOCK}.rel_attn.{name}")
            for name in "qkvor"
        ),
        *layer_names(
            f"{_BLOCK}/rel_attn/LayerNorm", f"{_THEIR_BLOCK}.rel_attn.layer_norm"
        ),
        *layer_names(f"{_BLOCK}/ff/layer_1", f"{_THEIR_BLOCK}.ff.layer_1"),
        *layer_names(f"{_BLOCK}/ff/layer_2", f"{_THEIR_BLOCK}.ff.layer_2"),
        *layer_names(f"{_BLOCK}/ff/LayerNorm", f"{_THEIR_BLOCK}.ff.layer_norm"),
    ]
)


def encoder_variables(xlnet):
    """Returns the variables of an `XLNetModel` by official name, in network order."""
    embeddings, stack = xlnet.embeddings, xlnet.stack
    variables = {TABLE: embeddings.word_embeddings}
    if embeddings.mapping_kernel is not None:
        variables[MAPPING] = embeddings.mapping_kernel
    variables[MASK_EMB] = embeddings.mask_emb
    for name in STACKED:
        variables[name] = getattr(stack, name.removeprefix(f"{_SCOPE}/"))
    for i, attention in enumerate(stack.attention.values()):
        scope = layer_scope(i, "rel_attn")
        for name in "qkvor":
            variables[f"{scope}{name}/kernel"] = getattr(attention, f"{name}_kernel")
        norm = attention.layer_norm
        variables |= _variables_of(f"{scope}LayerNorm", norm, "gamma", "beta")
    for i, feed_forward in enumerate(stack.feed_forward.values()):
        scope = layer_scope(i, "ff")
        inner, outer = feed_forward.intermediate, feed_forward.output_dense
        norm = feed_forward.layer_norm
        variables |= _variables_of(f"{scope}layer_1", inner, "kernel", "bias")
        variables |= _variables_of(f"{scope}layer_2", outer, "kernel", "bias")
        variables |= _variables_of(f"{scope}LayerNorm", norm, "gamma", "beta")
    return variables


def _variables_of(scope, layer, *names):
    return {f"{scope}/{name}": getattr(layer, name) for name in names}


def layer_scope(layer, part):
    """Returns the official scope of the part "rel_attn" or "ff" of a layer."""
    return f"{_SCOPE}/layer_{layer}/{part}/"


def layer_of(official):
    """Splits the official name of a layer's variable: (layer, part, rest), or None."""
    match = _LAYER.match(official)
    return match and (int(match[1]), match[2], official[match.end() :])


def stacked_name(theirs):
    """Returns (official name, layer) for a layer's Hugging Face name, or None."""
    match = _THEIR_STACKED.fullmatch(theirs)
    return match and (f"{_SCOPE}/{match[2]}", int(match[1]))


def huggingface_stacked_name(official, layer):
    """Returns Hugging Face's name for one layer of a stacked variable."""
    name = official.removeprefix(f"{_SCOPE}/")
    return f"transformer.layer.{layer}.rel_attn.{name}"
