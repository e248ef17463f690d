"""The variables of ALBERT's encoder: their official names and Hugging Face's."""

import re

from albert_tf.errors import UserError

ADAPTERS = "bert/encoder/transformer/depth_adapters"
_BLOCK = "bert/encoder/transformer/group_{}/inner_group_{}"
_THEIR_BLOCK = "albert.encoder.albert_layer_groups.{}.albert_layers.{}"
# The layers of a block, in order: sublayer, attribute, scope below the block's, and
# Hugging Face's scope if their model has such a layer.
_LAYERS = (
    ("attention", "query", "attention_1/self/query", "attention.query"),
    ("attention", "key", "attention_1/self/key", "attention.key"),
    ("attention", "value", "attention_1/self/value", "attention.value"),
    ("attention", "output_dense", "attention_1/output/dense", "attention.dense"),
    ("attention", "layer_norm", "LayerNorm", "attention.LayerNorm"),
    ("feed_forward", "intermediate", "ffn_1/intermediate/dense", "ffn"),
    ("feed_forward", "gate", "ffn_1/intermediate/gate", None),
    ("feed_forward", "output_dense", "ffn_1/intermediate/output/dense", "ffn_output"),
    ("feed_forward", "layer_norm", "LayerNorm_1", "full_layer_layer_norm"),
)
_SCOPES_IN_BLOCK = {(kind, name): scope for kind, name, scope, _ in _LAYERS}
_SCOPES = (
    ("bert/embeddings/LayerNorm", "albert.embeddings.LayerNorm"),
    (
        "bert/encoder/embedding_hidden_mapping_in",
        "albert.encoder.embedding_hidden_mapping_in",
    ),
    *(
        (f"{_BLOCK}/{ours}", f"{_THEIR_BLOCK}.{theirs}")
        for *_, ours, theirs in _LAYERS
        if theirs
    ),
    ("bert/pooler/dense", "albert.pooler"),
)
_TABLES = ("word_embeddings", "token_type_embeddings", "position_embeddings")
_WHOLE_NAMES = {
    f"bert/embeddings/{table}": f"albert.embeddings.{table}.weight" for table in _TABLES
}
_OFFICIAL_NAMES = {theirs: ours for ours, theirs in _WHOLE_NAMES.items()}


def encoder_variables(albert):
    """Returns an `AlbertModel`'s variables by official name, in network order."""
    embeddings = albert.embeddings
    scope = "bert/embeddings"
    tables = {f"{scope}/{name}": getattr(embeddings, name) for name in _TABLES}
    # With rotary positions there is no table of them.
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
    variables |= _variables_of("bert/encoder/final_LayerNorm", transformer.final_norm)
    return variables | _variables_of("bert/pooler/dense", albert.pooler)


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
    """Returns the names of the weights `down` and `up` of a product's adapters.

    Args:
        projection: the scope of the product below a block's.
    """
    return tuple(f"{ADAPTERS}/{projection}/{side}" for side in ("down", "up"))


def adapted_scopes(config):
    """Lists the scopes, below a block's, of the products that have adapters."""
    return [
        _SCOPES_IN_BLOCK[kind, name]
        for kind, products in config.adapted_products().items()
        for name in products
    ]


def _variables_of(scope, layer):
    """Returns the variables of a `Dense`, of a `LayerNorm`, or of no layer, None."""
    names = ("kernel", "bias", "beta", "gamma")
    found = {f"{scope}/{name}": getattr(layer, name, None) for name in names}
    return {name: variable for name, variable in found.items() if variable is not None}


def block_scope(key):
    """Returns the scope of the parameters "g_j": inner block j of group g."""
    return _BLOCK.format(*key.split("_"))


def huggingface_name(official):
    """Returns the Hugging Face name of the encoder's variable `official`.

    Raises:
        UserError: no ALBERT model of theirs has it.
    """
    if official in _WHOLE_NAMES:
        return _WHOLE_NAMES[official]
    scope, parameter = official.rsplit("/", 1)
    theirs = _translated(scope, _SCOPES)
    if theirs is None:
        raise UserError(
            f"Hugging Face has no ALBERT model with {official}; write the model with "
            "official TF1 names or as a model directory."
        )
    suffix = "bias" if parameter in ("bias", "beta") else "weight"
    return f"{theirs}.{suffix}"


def official_name(theirs):
    """Returns the official name of the encoder's tensor `theirs`, or None."""
    if theirs in _OFFICIAL_NAMES:
        return _OFFICIAL_NAMES[theirs]
    scope, _, suffix = theirs.rpartition(".")
    official = _translated(scope, [(theirs, ours) for ours, theirs in _SCOPES])
    if official is None:
        return None
    is_norm = official.rsplit("/", 1)[-1].startswith("LayerNorm")
    parameters = {
        "weight": "gamma" if is_norm else "kernel",
        "bias": "beta" if is_norm else "bias",
    }
    return f"{official}/{parameters[suffix]}" if suffix in parameters else None


def _translated(scope, pairs):
    """Rewrites `scope` by the first pair of templates that matches it, or None."""
    for source, target in pairs:
        pattern = re.escape(source).replace(r"\{\}", r"(\d+)")
        match = re.fullmatch(pattern, scope)
        if match:
            return target.format(*match.groups())
    return None
