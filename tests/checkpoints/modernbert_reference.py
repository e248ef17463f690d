"""ModernBERT in NumPy, by the names of Hugging Face's files."""

import math

import numpy as np

_ACTIVATIONS = {
    "gelu": lambda x: x * 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2))),
    "relu": lambda x: np.maximum(x, 0),
    "silu": lambda x: x / (1 + np.exp(-x)),
    "tanh": np.tanh,
}


class Reference:
    """Computes outputs in float64.

    Args:
        entries: the dict of a `config.json`.
        tensors: arrays by Hugging Face name, with the prefix "model.".
    """

    def __init__(self, entries, tensors):
        self.entries = entries
        self.tensors = {name: np.float64(array) for name, array in tensors.items()}

    def dense(self, name, inputs):
        outputs = inputs @ self.tensors[f"{name}.weight"].T
        return outputs + self.tensors.get(f"{name}.bias", 0)

    def norm(self, name, inputs):
        centred = inputs - inputs.mean(-1, keepdims=True)
        scale = np.sqrt((centred**2).mean(-1, keepdims=True) + self.entries["norm_eps"])
        outputs = centred / scale * self.tensors[f"{name}.weight"]
        return outputs + self.tensors.get(f"{name}.bias", 0)

    def rotated(self, heads, base):
        """Rotates `[batch, heads, tokens, size]`."""
        half = heads.shape[-1] // 2
        angles = np.arange(heads.shape[2])[:, None] * base ** (-np.arange(half) / half)
        first, second = heads[..., :half], heads[..., half:]
        cosine, sine = np.cos(angles), np.sin(angles)
        turned = [first * cosine - second * sine, second * cosine + first * sine]
        return np.concatenate(turned, -1)

    def attention(self, name, inputs, mask, layer):
        entries, (batch, tokens, width) = self.entries, inputs.shape
        heads = entries["num_attention_heads"]
        joined = self.dense(f"{name}.Wqkv", inputs)
        parts = joined.reshape(batch, tokens, 3, heads, -1).transpose(2, 0, 3, 1, 4)
        is_global = layer % entries["global_attn_every_n_layers"] == 0
        base = entries[f"{'global' if is_global else 'local'}_rope_theta"]
        query, key, value = (*(self.rotated(p, base) for p in parts[:2]), parts[2])
        places = np.arange(tokens)
        far = abs(places[:, None] - places) > entries["local_attention"] // 2
        hidden = (mask[:, None, None] == 0) | (far & (not is_global))
        scores = query @ key.swapaxes(-1, -2) / math.sqrt(width // heads)
        scores = np.where(hidden, -1e9, scores)
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        mixed = scores / scores.sum(-1, keepdims=True) @ value
        mixed = mixed.swapaxes(1, 2).reshape(batch, tokens, width)
        return self.dense(f"{name}.Wo", mixed)

    def encoder(self, ids, mask):
        table = self.tensors["model.embeddings.tok_embeddings.weight"]
        hidden = self.norm("model.embeddings.norm", table[ids])
        activation = _ACTIVATIONS[self.entries["hidden_activation"]]
        for layer in range(self.entries["num_hidden_layers"]):
            name = f"model.layers.{layer}"
            read = self.norm(f"{name}.attn_norm", hidden) if layer else hidden
            hidden = hidden + self.attention(f"{name}.attn", read, mask, layer)
            read = self.norm(f"{name}.mlp_norm", hidden)
            first, gate = np.split(self.dense(f"{name}.mlp.Wi", read), 2, -1)
            hidden = hidden + self.dense(f"{name}.mlp.Wo", activation(first) * gate)
        return self.norm("model.final_norm", hidden)

    def head(self, hidden):
        activation = _ACTIVATIONS[self.entries["classifier_activation"]]
        return self.norm("head.norm", activation(self.dense("head.dense", hidden)))

    def texts(self, ids, mask):
        """Computes the logits of texts."""
        hidden = self.encoder(ids, mask)
        pooled = hidden[:, 0]
        if self.entries["classifier_pooling"] == "mean":
            pooled = (hidden * mask[..., None]).sum(1) / mask.sum(1, keepdims=True)
        return self.dense("classifier", self.head(pooled))

    def tokens(self, ids, mask):
        """Computes the logits of tokens."""
        return self.dense("classifier", self.head(self.encoder(ids, mask)))

    def words(self, ids, mask):
        """Computes the logits of the vocabulary."""
        table = self.tensors["model.embeddings.tok_embeddings.weight"]
        decoder = self.tensors.get("decoder.weight", table)
        logits = self.head(self.encoder(ids, mask)) @ decoder.T
        return logits + self.tensors.get("decoder.bias", 0)
