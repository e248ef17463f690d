"""Official variable names to those of Hugging Face, and back."""

import re

from albert_tf.errors import UserError

_BLOCK = "bert/encoder/transformer/group_{}/inner_group_{}"
_THEIR_BLOCK = "albert.encoder.albert_layer_groups.{}.albert_layers.{}"
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
    ("cls/predictions/transform/dense", "predictions.dense"),
    ("cls/predictions/transform/LayerNorm", "predictions.LayerNorm"),
)
_WHOLE_NAMES = {
    "bert/embeddings/word_embeddings": "albert.embeddings.word_embeddings.weight",
    "bert/embeddings/token_type_embeddings": (
        "albert.embeddings.token_type_embeddings.weight"
    ),
    "bert/embeddings/position_embeddings": (
        "albert.embeddings.position_embeddings.weight"
    ),
    "cls/predictions/output_bias": "predictions.bias",
    "cls/seq_relationship/output_weights": "sop_classifier.classifier.weight",
    "cls/seq_relationship/output_bias": "sop_classifier.classifier.bias",
    "cls/squad/output_weights": "qa_outputs.weight",
    "cls/squad/output_bias": "qa_outputs.bias",
    "output_weights": "classifier.weight",
    "output_bias": "classifier.bias",
}
_OFFICIAL_NAMES = {theirs: ours for ours, theirs in _WHOLE_NAMES.items()}


def huggingface_name(official):
    """The Hugging Face name of the variable `official`.

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
    """The official name of the Hugging Face tensor `theirs`, or None."""
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
