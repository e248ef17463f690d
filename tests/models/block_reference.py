"""Blocks of today, and the encoder in NumPy: as a configuration asks for it."""

import math

import numpy as np

from albert_tf.families.albert_names import block_scope
from albert_tf.models.albert import AlbertModel
from albert_tf.models.base import seeded

MODERN = {
    "position_embedding_type": "rotary",
    "norm": "pre",
    "hidden_act": "geglu",
    "use_bias": False,
    "local_attention_window": 4,
    "global_attention_every": 2,
}
DISENTANGLED = {"position_embedding_type": "disentangled", "position_buckets": 4}
_ERF = np.vectorize(math.erf)
ACTIVATIONS = {
    "gelu": lambda x: x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
    "gelu_erf": lambda x: x / 2 * (1 + _ERF(x / np.sqrt(2))),
    "relu": lambda x: np.maximum(x, 0),
    "silu": lambda x: x / (1 + np.exp(-x)),
    "tanh": np.tanh,
}
_GATES = {
    "geglu": ACTIVATIONS["gelu"],
    "reglu": ACTIVATIONS["relu"],
    "swiglu": ACTIVATIONS["silu"],
}


def make(config, model_class=AlbertModel, **options):
    """A model whose biases and norms are not as new."""
    with seeded(3):
        model = model_class(config, **options)
    random = np.random.default_rng(1)
    for variable in model.variables:
        if variable.path.endswith(("bias", "beta", "gamma", "_up")):
            noise = 0.3 * random.normal(size=variable.shape)
            variable.assign(variable.numpy() + noise)
    return model


def weights_of(model):
    """The weights of an `AlbertModel` by official name."""
    return {k: np.float64(v.numpy()) for k, v in model.official_variables().items()}


def encoder_states(config, weights, features):
    """The input of the first block and the outputs of all, then that after the norm."""
    places, seen = _places_and_sight(features)
    hidden = _embedded(config, weights, features, places)
    mapping = "bert/encoder/embedding_hidden_mapping_in"
    states = [_dense(weights, mapping, hidden)]
    blocks = [block for layer in config.layer_schedule() for block in layer]
    for number, (attention, feed_forward) in enumerate(blocks):
        own = _of_block(weights, number, attention, feed_forward)
        scope = block_scope(attention)
        sight = seen
        window = config.local_attention_window
        if window is not None and number % config.global_attention_every:
            rows = np.arange(seen.shape[1])
            sight = seen & (2 * np.abs(rows[:, None] - rows) <= window)

        def attend(hidden, own=own, scope=scope, sight=sight):
            return _attention(config, own, scope, hidden, places, sight)

        fed_scope = block_scope(feed_forward)

        def feed(hidden, own=own, scope=fed_scope):
            return _fed_forward(config, own, f"{scope}/ffn_1/intermediate", hidden)

        hidden = states[-1]
        for function, norm in (
            (attend, f"{scope}/LayerNorm"),
            (feed, f"{fed_scope}/LayerNorm_1"),
        ):
            if config.norm == "pre":
                hidden = hidden + function(_norm(weights, norm, hidden))
            else:
                hidden = _norm(weights, norm, hidden + function(hidden))
        states.append(hidden)
    if config.norm == "pre":
        hidden = _norm(weights, "bert/encoder/final_LayerNorm", hidden)
    return [*states, hidden]


def _of_block(weights, number, attention, feed_forward):
    """The weights with a block's adapters added to its products."""
    beginning, found = "bert/encoder/transformer/depth_adapters/", dict(weights)
    for name, down in weights.items():
        if name.startswith(beginning) and name.endswith("/down"):
            product = name.removeprefix(beginning).removesuffix("/down")
            key = attention if product.startswith("attention") else feed_forward
            up = weights[f"{beginning}{product}/up"]
            kernel = f"{block_scope(key)}/{product}/kernel"
            found[kernel] = weights[kernel] + down[number] @ up[number]
    return found


def _places_and_sight(features):
    """Positions `[B, T]`, and who sees whom `[B, T, T]`."""
    mask = features["input_mask"].astype(bool)
    rows, tokens = mask.shape
    pairs = features.get("pair_ids", np.zeros((rows, tokens), int))
    places = np.zeros((rows, tokens), int)
    for row in range(rows):
        for i in range(tokens):
            places[row, i] = i - list(pairs[row]).index(pairs[row, i])
    return places, mask[:, None] & (pairs[:, :, None] == pairs[:, None])


def _embedded(config, weights, features, places):
    scope = "bert/embeddings"
    total = weights[f"{scope}/word_embeddings"][features["input_ids"]]
    total = total + weights[f"{scope}/token_type_embeddings"][features["segment_ids"]]
    if config.position_embedding_type == "learned":
        total = total + weights[f"{scope}/position_embeddings"][places]
    return _norm(weights, f"{scope}/LayerNorm", total)


def _attention(config, weights, scope, hidden, places, sight):
    rows, tokens, _ = hidden.shape
    size = config.head_size
    scope = f"{scope}/attention_1"

    def heads(name):
        projected = _dense(weights, f"{scope}/self/{name}", hidden)
        return projected.reshape(rows, tokens, -1, size)

    query, key, value = heads("query"), heads("key"), heads("value")
    if config.position_embedding_type == "rotary":
        query, key = _turned(query, places), _turned(key, places)
    scores = np.einsum("bqnd,bknd->bnqk", query, key) / math.sqrt(size)
    if config.position_embedding_type == "disentangled":
        distances = _scores_of_distances(config, weights, scope, query, key)
        scores = scores / math.sqrt(3) + distances / math.sqrt(3 * size)
    scores = np.where(sight[:, None], scores, -1e4)
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    shares = powers / powers.sum(-1, keepdims=True)
    context = np.einsum("bnqk,bknd->bqnd", shares, value).reshape(hidden.shape)
    return _dense(weights, f"{scope}/output/dense", context)


def _scores_of_distances(config, weights, scope, query, key):
    vectors = weights["bert/encoder/relative_embeddings"]
    vectors = _norm(weights, "bert/encoder/relative_LayerNorm", vectors)
    query_of, key_of = (
        _dense(weights, f"{scope}/self/{n}", vectors).reshape(-1, *query.shape[2:])
        for n in ("query", "key")
    )
    tokens, half = query.shape[1], len(vectors) // 2
    scores = np.zeros((len(query), query.shape[2], tokens, tokens))
    for i in range(tokens):
        for j in range(tokens):
            row = min(half + _bucket(config, i - j), 2 * half - 1)
            scores[:, :, i, j] = np.einsum("bnd,nd->bn", query[:, i], key_of[row])
            scores[:, :, i, j] += np.einsum("bnd,nd->bn", key[:, j], query_of[row])
    return scores


def _bucket(config, distance):
    middle, size = (config.position_buckets or math.inf) // 2, abs(distance)
    if config.position_buckets is None or size <= middle:
        return distance
    share = math.log(size / middle)
    share /= math.log((config.max_position_embeddings - 1) / middle)
    return (middle + math.ceil(share * (middle - 1))) * (1 if distance > 0 else -1)


def _turned(heads, places):
    """Each pair of elements as a complex number, turned by its angle."""
    half = heads.shape[-1] // 2
    pairs = heads[..., :half] + 1j * heads[..., half:]
    angles = places[:, :, None] / 10000 ** (np.arange(half) / half)
    turned = pairs * np.exp(1j * angles)[:, :, None]
    return np.concatenate([turned.real, turned.imag], axis=-1)


def _fed_forward(config, weights, scope, hidden):
    inner = _dense(weights, f"{scope}/dense", hidden)
    if config.hidden_act in _GATES:
        inner *= _GATES[config.hidden_act](_dense(weights, f"{scope}/gate", hidden))
    else:
        inner = ACTIVATIONS["gelu"](inner)
    return _dense(weights, f"{scope}/output/dense", inner)


def _dense(weights, scope, inputs):
    return inputs @ weights[f"{scope}/kernel"] + weights.get(f"{scope}/bias", 0)


def _norm(weights, scope, inputs):
    centred = inputs - inputs.mean(-1, keepdims=True)
    scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-12)
    return scaled * weights[f"{scope}/gamma"] + weights.get(f"{scope}/beta", 0)
