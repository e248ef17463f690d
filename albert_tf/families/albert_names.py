"""The variables of ALBERT's encoder: their official names and Hugging Face's."""

import re

from albert_tf.errors import UserError

ADAPTERS = "bert/encoder/transformer/depth_adapters"
_BLOCK = "bert/encoder/transformer/group_{}/inner_group_{}"
_THEIR_BLOCK = "albert.encoder.albert_layer_groups.{}.albert_layers.{}"
# Scopes of the projections below a block's, by sublayer and attribute.
_PROJECTIONS = {
    "attention": {
        "query": "attention_1/self/query",
        "key": "attention_1/self/key",
        "value": "attention_1/self/value",
        "output_dense": "attention_1/output/dense",
    },
    "feed_forward": {
        "intermediate": "ffn_1/intermediate/dense",
        "gate": "ffn_1/intermediate/gate",
        "output_dense": "ffn_1/intermediate/output/dense",
    },
}
_SCOPES = (
    ("bert/embeddings/LayerNorm", "albert.embeddings.LayerNorm"),
    (
        "bert/encoder/embedding_hidden_mapping_in",
        "albert.encoder.embedding_hidden_mapping_in",
    ),
    *(
        (f"{_BLOCK}/{ours}", f"{_THEIR_BLOCK}.{theirs}")
        for ours, theirs in (
            ("attention_1/self/query", "attention.query"),
            ("attention_1/self/key", "attention.key"),
            ("attention_1/self/value", "attention.value"),
            ("attention_1/output/dense", "attention.dense"),
            ("LayerNorm", "attention.LayerNorm"),
            ("ffn_1/intermediate/dense", "ffn"),
            ("ffn_1/intermediate/output/dense", "ffn_output"),
            ("LayerNorm_1", "full_layer_layer_norm"),
        )
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
    variables |= _layer_norm_variables(f"{scope}/LayerNorm", embeddings.layer_norm)
    if albert.embedding_mapping is not None:
        scope = "bert/encoder/embedding_hidden_mapping_in"
        variables |= _dense_variables(scope, albert.embedding_mapping)
    transformer = albert.transformer
    for key, attention in transformer.attention.items():
        variables |= _sublayer_variables(key, "attention", attention, "LayerNorm")
    for key, feed_forward in transformer.feed_forward.items():
        variables |= _sublayer_variables(
            key, "feed_forward", feed_forward, "LayerNorm_1"
        )
    if transformer.adapters is not None:
        variables |= _adapter_variables(transformer.adapters)
    if transformer.final_norm is not None:
        scope = "bert/encoder/final_LayerNorm"
        variables |= _layer_norm_variables(scope, transformer.final_norm)
    return variables | _dense_variables("bert/pooler/dense", albert.pooler)


def _sublayer_variables(key, kind, sublayer, norm):
    variables = {}
    for name, part in _PROJECTIONS[kind].items():
        projection = getattr(sublayer, name)
        if projection is not None:
            variables |= _dense_variables(f"{block_scope(key)}/{part}", projection)
    norm = _layer_norm_variables(f"{block_scope(key)}/{norm}", sublayer.layer_norm)
    return variables | norm


def _adapter_variables(adapters):
    variables = {}
    for kind, pairs in adapters.pairs.items():
        for name, pair in pairs.items():
            names = adapter_names(_PROJECTIONS[kind][name])
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
        _PROJECTIONS[kind][name]
        for kind, products in config.adapted_products().items()
        for name in products
    ]


def _dense_variables(scope, layer):
    """Returns the variables of a Keras `Dense` layer."""
    bias = {} if layer.bias is None else {f"{scope}/bias": layer.bias}
    return {f"{scope}/kernel": layer.kernel, **bias}


def _layer_norm_variables(scope, layer):
    """Returns the variables of a `LayerNorm`."""
    beta = {} if layer.beta is None else {f"{scope}/beta": layer.beta}
    return {**beta, f"{scope}/gamma": layer.gamma}


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
