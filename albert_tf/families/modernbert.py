"""Checkpoints of ModernBERT and Ettin, read as ALBERTs whose layers share nothing.

ModernBERT (Warner et al., arXiv 2412.13663) has rotary positions, norms before its
sublayers except the first, gated feed-forward layers, and attention that is global in
every nth layer and local in the others, each with a base of positions. A head of dense
layer, activation and norm precedes every classifier: the pooler here.
"""

import numpy as np

from albert_tf.config import GATED_ACTIVATIONS
from albert_tf.config import AlbertConfig
from albert_tf.errors import UserError
from albert_tf.families.albert_names import BLOCK
from albert_tf.families.base import OUR_ACTIVATIONS
from albert_tf.families.base import THEIR_ACTIVATIONS
from albert_tf.families.base import NameTable
from albert_tf.families.base import check_config
from albert_tf.families.base import layer_names
from albert_tf.families.base import our_activation
from albert_tf.families.bert import BertFamily
from albert_tf.io.foreign import check_settings
from albert_tf.io.foreign import shown

_DEFAULTS = {
    "vocab_size": 50368,
    "hidden_size": 768,
    "intermediate_size": 1152,
    "num_hidden_layers": 22,
    "num_attention_heads": 12,
    "max_position_embeddings": 8192,
    "initializer_range": 0.02,
    "tie_word_embeddings": True,
}
# Our names of fields by Hugging Face's, and Hugging Face's defaults.
_RENAMED = {
    "norm_eps": ("layer_norm_eps", 1e-5),
    "attention_dropout": ("attention_probs_dropout_prob", 0.0),
    "mlp_dropout": ("hidden_dropout_prob", 0.0),
}
# The parts whose biases Hugging Face's entries switch.
_BIASES = {
    "attention_bias": "attention",
    "mlp_bias": "feed_forward",
    "norm_bias": "norm",
    "classifier_bias": "head",
    "decoder_bias": "decoder",
}
_POOLINGS = {"cls": "first", "mean": "mean"}
_GLOBAL, _LOCAL = "full_attention", "sliding_attention"
_BASES = {
    _GLOBAL: ("rotary_base", "global_rope_theta", 160_000.0),
    _LOCAL: ("local_rotary_base", "local_rope_theta", 10_000.0),
}
_LAYERS = ("layer_types", "global_attn_every_n_layers", "local_attention")
_READ = """
    hidden_activation classifier_activation classifier_dropout classifier_pooling
    rope_parameters
"""
# Of training, of the library's own working, and of other models.
_HARMLESS = """
    classifier_dropout_prob cls_token_id deterministic_flash_attn embedding_dropout
    initializer_cutoff_factor layer_norm_eps reference_compile repad_logits_with_grad
    sparse_pred_ignore_index sparse_prediction
"""
_GATED = {ours: gated for gated, ours in GATED_ACTIVATIONS.items()}
_ACTIVATIONS = {
    theirs: _GATED[ours] for theirs, ours in OUR_ACTIVATIONS.items() if ours in _GATED
}
# What every such model has.
_FIXED = {
    "norm": "pre",
    "norms_first_input": False,
    "parameter_sharing": "none",
    "pooler_norm": True,
    "position_embedding_type": "rotary",
    "type_vocab_size": 0,
}
_VARIED = (
    *("hidden_act", "layer_norm_eps", "local_attention_window", "tie_word_embeddings"),
    *("global_attention_every", "pooled_tokens", "pooler_act", "unbiased"),
    *("local_rotary_base", "rotary_base"),
)
# Matrices that Hugging Face stores as one, in the order of their rows.
_JOINED = {
    "attn.Wqkv": ("attn.query", "attn.key", "attn.value"),
    "mlp.Wi": ("mlp.gate", "mlp.intermediate"),
}
_SUBLAYERS = {
    "attn.query": "attention_1/self/query",
    "attn.key": "attention_1/self/key",
    "attn.value": "attention_1/self/value",
    "attn.Wo": "attention_1/output/dense",
    "attn_norm": "LayerNorm",
    "mlp.intermediate": "ffn_1/intermediate/dense",
    "mlp.gate": "ffn_1/intermediate/gate",
    "mlp.Wo": "ffn_1/intermediate/output/dense",
    "mlp_norm": "LayerNorm_1",
}
_HEADS = {
    "head.dense.": "predictions.dense.",
    "head.norm.": "predictions.LayerNorm.",
    "decoder.weight": "predictions.decoder.weight",
    "decoder.bias": "predictions.bias",
}
_ANSWERS = "AlbertForQuestionAnswering"


def _names():
    yield "bert/embeddings/word_embeddings", "model.embeddings.tok_embeddings.weight"
    yield from layer_names("bert/embeddings/LayerNorm", "model.embeddings.norm")
    yield from layer_names("bert/encoder/final_LayerNorm", "model.final_norm")
    yield from layer_names("bert/pooler/dense", "head.dense")
    yield from layer_names("bert/pooler/LayerNorm", "head.norm")
    block = BLOCK.replace("inner_group_{}", "inner_group_0")
    for theirs, ours in _SUBLAYERS.items():
        yield from layer_names(f"{block}/{ours}", f"model.layers.{{}}.{theirs}")


class ModernBertFamily(BertFamily):
    """ModernBERT's configurations and names; it loads as `AlbertFamily`'s models."""

    config_file = "modernbert_config.json"
    huggingface_type = "modernbert"
    title = "ModernBERT"
    prefix = "ModernBert"
    encoder = "model"
    names = NameTable([*_names()])
    tied = {
        "predictions.decoder.weight": "model.embeddings.tok_embeddings.weight",
        "predictions.decoder.bias": "predictions.bias",
    }
    takes = (*_FIXED, *_VARIED)
    fixed = {**_FIXED, "is_gated": True}
    heads = _HEADS
    pooled = (
        *("AlbertForSequenceClassification", "AlbertForTokenClassification"),
        *("AlbertForMultipleChoice", _ANSWERS),
    )
    unpooled = ("AlbertModel", "AlbertForMaskedLM")

    def config_from_huggingface(self, entries, path):
        known = {*_DEFAULTS, *_RENAMED, *_BIASES, *_LAYERS}
        known |= {old for _, old, _ in _BASES.values()}
        known |= {*_READ.split(), *_HARMLESS.split()}
        # An entry of other models, which ModernBERT ignores.
        ignored = {"position_embedding_type": ("absolute", "sans_pos")}
        check_config(entries, path, known, ignored)
        ours = {key: entries.get(key, usual) for key, usual in _DEFAULTS.items()}
        for key, (own, usual) in _RENAMED.items():
            ours[own] = entries.get(key, usual)
        activation = ("hidden_activation", "gelu", path)
        ours["hidden_act"] = our_activation(entries, *activation, _ACTIVATIONS)
        ours["pooler_act"] = our_activation(
            entries, "classifier_activation", "gelu", path
        )
        pooling = _told(entries, path, "classifier_pooling", "cls", [*_POOLINGS])
        ours |= {"pooled_tokens": _POOLINGS[pooling], "unbiased": []}
        for key, part in _BIASES.items():
            if not _told(entries, path, key, key == "decoder_bias", [False, True]):
                ours["unbiased"].append(part)
        ours |= {**_FIXED, **_bases(entries, path), **_window(entries, path)}
        ours["embedding_size"] = ours["hidden_size"]
        return AlbertConfig.from_dict(ours, source=path)

    def names_from_huggingface(self, tensors, architectures):
        """Splits joined matrices; a language model's head is also the pooler."""
        found, is_classifier = {}, "classifier.weight" in tensors
        if not is_classifier:
            found = {n: t for n, t in tensors.items() if n.startswith("head.")}
            tensors = super().names_from_huggingface(tensors, architectures)
        for name, tensor in tensors.items():
            layer, _, kind = name.rpartition(".")
            joined = next((j for j in _JOINED if layer.endswith(j)), None)
            if joined is not None:
                parts = _JOINED[joined]
                for part, rows in zip(parts, np.split(tensor, len(parts)), strict=True):
                    found[f"{layer.removesuffix(joined)}{part}.{kind}"] = rows
                continue
            if _ANSWERS in architectures:
                name = name.replace("classifier.", "qa_outputs.", 1)
            found[name] = tensor
        return found

    def names_to_huggingface(self, tensors, architecture):
        found = super().names_to_huggingface(tensors, architecture)
        for name in [name for name in found if name.startswith("qa_outputs.")]:
            found[name.replace("qa_outputs", "classifier")] = found.pop(name)
        for joined, (first, *others) in _JOINED.items():
            for name in [n for n in found if f".{first}." in n]:
                names = [name, *(name.replace(first, other) for other in others)]
                rows = np.concatenate([found.pop(n) for n in names])
                found[name.replace(first, joined)] = rows
        return found

    def special_tokens(self, tokenizer):
        first, last = tokenizer.cls_id, tokenizer.sep_id
        return {
            **{"pad_token_id": tokenizer.pad_id, "bos_token_id": first},
            **{"cls_token_id": first, "eos_token_id": last, "sep_token_id": last},
        }

    def holds(self, config):
        is_alike = config.has_bias("norm") == config.has_bias("norm", in_block=False)
        return is_alike and super().holds(config)

    def entries_of(self, config):
        layers, every = config.num_hidden_layers, config.global_attention_every
        window = config.local_attention_window
        every = 1 if window is None else every
        poolings = {ours: theirs for theirs, ours in _POOLINGS.items()}
        bases = {kind: getattr(config, own) for kind, (own, *_) in _BASES.items()}
        rope = {"rope_type": "default"}
        activation = GATED_ACTIVATIONS[config.hidden_act]
        return {
            **{key: getattr(config, key) for key in _DEFAULTS},
            **{key: getattr(config, own) for key, (own, _) in _RENAMED.items()},
            **{
                key: config.has_bias(part, part in ("attention", "feed_forward"))
                for key, part in _BIASES.items()
            },
            "hidden_activation": THEIR_ACTIVATIONS[activation],
            "classifier_activation": THEIR_ACTIVATIONS[config.pooler_act],
            "classifier_pooling": poolings[config.pooled_tokens],
            "embedding_dropout": config.hidden_dropout_prob,
            "local_attention": window or 128,
            "global_attn_every_n_layers": every,
            "layer_types": _layer_types(layers, every),
            "rope_parameters": {k: {**rope, "rope_theta": b} for k, b in bases.items()},
            # Of older versions.
            **{old: bases[kind] for kind, (_, old, _) in _BASES.items()},
            "pad_token_id": None,
        }


MODERNBERT = ModernBertFamily()


def _told(entries, path, key, usual, choices):
    """Returns an entry, or `usual` in its absence; refuses others than `choices`."""
    value = entries.get(key, usual)
    if type(value) is not type(choices[0]) or value not in choices:
        expected = " or ".join(map(repr, choices))
        raise UserError(f"{path} sets {key} to {shown(value)}, expected {expected}.")
    return value


def _bases(entries, path):
    """Reads the bases of rotary positions, in the forms of transformers 4 and 5."""
    rope, found = entries.get("rope_parameters") or {}, {}
    _require(path, "rope_parameters", rope, isinstance(rope, dict), "an object")
    check_settings(rope, f"{path}: rope_parameters", {*_BASES})
    for kind, (own, old, usual) in _BASES.items():
        name, told = f"rope_parameters.{kind}", rope.get(kind) or {}
        _require(path, name, told, isinstance(told, dict), "an object")
        fixed = {"rope_type": ("default",)}
        check_settings(told, f"{path}: {name}", {"rope_theta"}, fixed)
        base = told.get("rope_theta", entries.get(old, usual))
        is_base = type(base) in (int, float) and base >= 1
        _require(path, old, base, is_base, "a number of at least 1")
        found[own] = float(base)
    return found


def _window(entries, path):
    """Reads the window of local layers, and which layers are global."""
    layers = entries.get("num_hidden_layers", _DEFAULTS["num_hidden_layers"])
    every = entries.get("global_attn_every_n_layers", 3)
    types = entries.get("layer_types")
    if types is not None:
        numbers = range(1, layers + 1) if type(layers) is int else ()
        every = next((n for n in numbers if types == _layer_types(layers, n)), None)
        expected = f"{_GLOBAL} in the layers 0, n, 2 n, … and {_LOCAL} in all others"
        _require(path, "layer_types", types, every is not None, expected)
    is_count = type(every) is int and every > 0
    _require(path, "global_attn_every_n_layers", every, is_count, "a positive integer")
    window = entries.get("local_attention", 128)
    is_width = type(window) is int and window > 0
    _require(path, "local_attention", window, is_width, "a positive integer")
    if every == 1:
        return {}
    return {"local_attention_window": window, "global_attention_every": every}


def _layer_types(layers, every):
    return [_LOCAL if layer % every else _GLOBAL for layer in range(layers)]


def _require(path, key, value, fits, expected):
    if not fits:
        raise UserError(f"{path} sets {key} to {shown(value)}, expected {expected}.")
