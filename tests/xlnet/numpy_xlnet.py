"""XLNet in float64 NumPy, written from its formulas with explicit distances.

It shares no idea with the model: queries attend one by one, and nothing is shifted.
"""

import math

import numpy as np

_ERF = np.vectorize(math.erf)
_ACTIVATIONS = {
    "relu": lambda x: np.maximum(x, 0),
    "gelu": lambda x: x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
    "gelu_erf": lambda x: x / 2 * (1 + _ERF(x / np.sqrt(2))),
}


def run(model, features, is_reversed=(False, False)):
    """(content states, query states, new memories): lists of layers, by row inside."""
    config = model.config
    weights = {
        name.removeprefix("model/transformer/"): np.array(v, np.float64)
        for name, v in model.official_variables().items()
    }
    rows = [
        _row(config, weights, {n: v[b] for n, v in features.items()}, turned)
        for b, turned in enumerate(is_reversed)
    ]
    return [np.stack(part) for part in zip(*rows, strict=True)]


def _row(config, weights, row, turned):
    table = weights["word_embedding/lookup_table"]
    content = list(table[row["input_ids"]])
    targets = list(row["target_positions"])
    queries = [weights["mask_emb/mask_emb"][0, 0]] * len(targets)
    contents, all_queries, memories = [content], [queries], []
    for layer in range(config.n_layer):
        memory = list(row["memories"][layer]) if "memories" in row else []
        kept = content[: config.reuse_len or None]
        memories.append((memory + kept)[-config.mem_len :])
        attend = _Attention(config, weights, layer, row, memory, content, turned)
        places = range(len(content))
        content, queries = (
            [attend(h, i, i) for i, h in zip(places, content, strict=True)],
            [attend(g, i) for i, g in zip(targets, queries, strict=True)],
        )
        contents.append(content)
        all_queries.append(queries)
    return np.array(contents), np.array(all_queries), np.array(memories)


class _Attention:
    """One block for one query."""

    def __init__(self, config, weights, layer, row, memory, content, turned):
        self.config, self.weights, self.layer = config, weights, layer
        self.row, self.turned, self.memory = row, turned, len(memory)
        self.keys = np.array([*memory, *content])

    def of(self, name):
        return self.weights[f"layer_{self.layer}/{name}"]

    def bias(self, name):
        bias = self.weights[name]
        return bias[self.layer] if self.config.untie_r else bias

    def __call__(self, state, place, itself=None):
        # A padded prediction attends to nothing.
        context = 0 if place < 0 else self.context(state, place, itself)
        attended = state + context
        hidden = self.norm(attended, "rel_attn")
        inner = hidden @ self.of("ff/layer_1/kernel") + self.of("ff/layer_1/bias")
        inner = _ACTIVATIONS[self.config.ff_activation](inner)
        output = inner @ self.of("ff/layer_2/kernel") + self.of("ff/layer_2/bias")
        return self.norm(hidden + output, "ff")

    def context(self, state, place, itself):
        q = np.einsum("w,wnd->nd", state, self.of("rel_attn/q/kernel"))
        scores = np.stack(
            [self.score(q, place, itself, j) for j in range(len(self.keys))], axis=-1
        )
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        shares = scores / scores.sum(axis=-1, keepdims=True)  # [N, K]
        value = np.einsum("kw,wnd->knd", self.keys, self.of("rel_attn/v/kernel"))
        vector = np.einsum("nk,knd->nd", shares, value)
        return np.einsum("nd,wnd->w", vector, self.of("rel_attn/o/kernel"))

    def score(self, q, place, itself, j):
        token = j - self.memory
        if token >= 0 and token != itself and self.is_hidden(place, token):
            return np.full(self.config.n_head, -np.inf)
        key = np.einsum("w,wnd->nd", self.keys[j], self.of("rel_attn/k/kernel"))
        code = np.einsum("w,wnd->nd", self.code(place - token), self.position_kernel())
        score = ((q + self.bias("r_w_bias")) * key).sum(-1)
        score += ((q + self.bias("r_r_bias")) * code).sum(-1)
        if "segment_ids" in self.row:
            segments = self.row["segment_ids"]
            differs = segments[place] != (segments[token] if token >= 0 else 0)
            embedding = self.weights["seg_embed"][self.layer, int(differs)]
            score += ((q + self.bias("r_s_bias")) * embedding).sum(-1)
        return score / np.sqrt(self.config.d_head)

    def is_hidden(self, place, token):
        if "input_mask" in self.row and not self.row["input_mask"][token]:
            return True
        return "perm_mask" in self.row and self.row["perm_mask"][place, token] == 1

    def position_kernel(self):
        return self.of("rel_attn/r/kernel")

    def code(self, distance):
        limit = self.config.clamp_len
        distance = min(max(distance, -limit), limit) if limit > 0 else distance
        distance = -distance if self.turned else distance
        width = self.config.d_model
        angles = [distance / 10000 ** (2 * k / width) for k in range(width // 2)]
        return np.concatenate([np.sin(angles), np.cos(angles)])

    def norm(self, x, part):
        scaled = (x - x.mean()) / np.sqrt(x.var() + 1e-12)
        gamma, beta = (self.of(f"{part}/LayerNorm/{n}") for n in ("gamma", "beta"))
        return scaled * gamma + beta
