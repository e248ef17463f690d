"""The variables of ALBERT's encoder: their official names and Hugging Face's."""

import itertools

from albert_tf.families.base import NameTable
from albert_tf.families.base import layer_names

ADAPTERS = "bert/encoder/transformer/depth_adapters"
BLOCK = "bert/encoder/transformer/group_{}/inner_group_{}"
_THEIR_BLOCK = "albert.encoder.albert_layer_groups.{}.albert_layers.{}"
# The layers of a block, in order: sublayer, attribute, scope below the block's, and
# Hugging Face's scope; their own model has no gate.
_LAYERS = (
    ("attention", "query", "attention_1/self/query", "attention.query"),
    ("attention", "key", "attention_1/self/key", "attention.key"),
    ("attention", "value", "attention_1/self/value", "attention.value"),
    ("attention", "output_dense", "attention_1/output/dense", "attention.dense"),
    ("attention", "layer_norm", "LayerNorm", "attention.LayerNorm"),
    ("feed_forward", "intermediate", "ffn_1/intermediate/dense", "ffn"),
    ("feed_forward", "gate", "ffn_1/intermediate/gate", "ffn_gate"),
    ("feed_forward", "output_dense", "ffn_1/intermediate/output/dense", "ffn_output"),
    ("feed_forward", "layer_norm", "LayerNorm_1", "full_layer_layer_norm"),
)
_SCOPES_IN_BLOCK = {(kind, name): scope for kind, name, scope, _ in _LAYERS}
_FINAL_NORM = "bert/encoder/final_LayerNorm"
TABLES = ("word_embeddings", "token_type_embeddings", "position_embeddings")
NAMES = NameTable(
    [
        *layer_names("bert/embeddings/LayerNorm", "albert.embeddings.LayerNorm"),
        *layer_names(
            "bert/encoder/embedding_hidden_mapping_in",
            "albert.encoder.embedding_hidden_mapping_in",
        ),
        *layer_names("bert/pooler/dense", "albert.pooler"),
        *itertools.chain.from_iterable(
            layer_names(f"{BLOCK}/{ours}", f"{_THEIR_BLOCK}.{theirs}")
            for *_, ours, theirs in _LAYERS
        ),
        # Of blocks that no class of transformers has.
        *layer_names(_FINAL_NORM, "albert.encoder.LayerNorm"),
        *(
            (
                f"{ADAPTERS}/{ours}/{side}",
                f"albert.encoder.depth_adapters.{theirs.rpartition('.')[2]}.{side}",
            )
            for *_, ours, theirs in _LAYERS
            for side in ("down", "up")
        ),
        *((f"bert/embeddings/{n}", f"albert.embeddings.{n}.weight") for n in TABLES),
    ]
)


def encoder_variables(albert):
    """Returns an `AlbertModel`'s variables by official name, in network order."""
    embeddings = albert.embeddings
    scope = "bert/embeddings"
    tables = {f"{scope}/{name}": getattr(embeddings, name) for name in TABLES}
    # With rotary positions, there is no position table.
    variables = {name: table for name, table in tables.items() if table is not None}
    variables |= _variables_of(f"{scope}/LayerNorm", embeddings.layer_norm)
    scope = "bert/encoder/embedding_hidden_mapping_in"
    variables |= _variables_of(scope, albert.embedding_mapping)
    transformer = albert.transformer
    for kind in ("attention", "feed_forward"):
        for key, sublayer in getattr(transformer, kind).items():
            variables |= _sublayer_variables(key, kind, sublayer)
    if transformer.adapters is not None:
        variables |= _adapter_variables(transformer.adapters)
    if transformer.relative_positions is not None:
        distances = transformer.relative_positions
        variables["bert/encoder/relative_embeddings"] = distances.embeddings
        scope = "bert/encoder/relative_LayerNorm"
        variables |= _variables_of(scope, distances.layer_norm)
    variables |= _variables_of(_FINAL_NORM, transformer.final_norm)
    variables |= _variables_of("bert/pooler/dense", albert.pooler)
    return variables | _variables_of("bert/pooler/LayerNorm", albert.pooler_norm)


def _sublayer_variables(key, kind, sublayer):
    variables = {}
    for (own_kind, name), scope in _SCOPES_IN_BLOCK.items():
        if own_kind == kind:
            layer = getattr(sublayer, name)
            variables |= _variables_of(f"{block_scope(key)}/{scope}", layer)
    return variables


def _adapter_variables(adapters):
    variables = {}
    for kind, pairs in adapters.pairs.items():
        for name, pair in pairs.items():
            names = adapter_names(_SCOPES_IN_BLOCK[kind, name])
            variables |= dict(zip(names, pair, strict=True))
    return variables


def adapter_names(projection):
    """Returns the names of `down` and `up`, the weights of a projection's adapters.

    Args:
        projection: the projection's scope below the block's.
    """
    return tuple(f"{ADAPTERS}/{projection}/{side}" for side in ("down", "up"))


def adapted_scopes(config):
    """Lists the scopes, below a block's, of the projections that have adapters."""
    return [
        _SCOPES_IN_BLOCK[kind, name]
        for kind, products in config.adapted_products().items()
        for name in products
    ]


def _variables_of(scope, layer):
    """Returns the variables of a `Dense` or `LayerNorm`; none if the layer is None."""
    names = ("kernel", "bias", "beta", "gamma")
    found = {f"{scope}/{name}": getattr(layer, name, None) for name in names}
    return {name: variable for name, variable in found.items() if variable is not None}


def block_scope(key):
    """Returns the scope of the parameter key "g_j": inner block j of group g."""
    return BLOCK.format(*key.split("_"))
