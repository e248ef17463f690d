"""Checkpoints of DistilBERT: BERT without segments and without a trained pooler.

Sanh et al., arXiv 1910.01108. Its classifiers have a pooler with ReLU.
"""

import types

from albert_tf.config import AlbertConfig
from albert_tf.families.albert_names import BLOCK
from albert_tf.families.base import THEIR_ACTIVATIONS
from albert_tf.families.base import NameTable
from albert_tf.families.base import check_config
from albert_tf.families.base import layer_names
from albert_tf.families.base import our_activation
from albert_tf.families.bert import BertFamily

# Our names of fields by Hugging Face's, and Hugging Face's defaults.
_FIELDS = {
    "vocab_size": ("vocab_size", 30522),
    "dim": ("hidden_size", 768),
    "hidden_dim": ("intermediate_size", 3072),
    "n_layers": ("num_hidden_layers", 6),
    "n_heads": ("num_attention_heads", 12),
    "max_position_embeddings": ("max_position_embeddings", 512),
    "initializer_range": ("initializer_range", 0.02),
    "dropout": ("hidden_dropout_prob", 0.1),
    "attention_dropout": ("attention_probs_dropout_prob", 0.1),
    "tie_word_embeddings": ("tie_word_embeddings", True),
}
_READ = ("activation", "seq_classif_dropout")
# How positions were made, dropout of other heads, and training.
_HARMLESS = ("classifier_dropout_prob", "qa_dropout", "sinusoidal_pos_embds")
_HARMLESS += ("tie_weights_",)
_TABLES = "distilbert.embeddings"
_LAYERS = {
    "attention.q_lin": "attention_1/self/query",
    "attention.k_lin": "attention_1/self/key",
    "attention.v_lin": "attention_1/self/value",
    "attention.out_lin": "attention_1/output/dense",
    "sa_layer_norm": "LayerNorm",
    "ffn.lin1": "ffn_1/intermediate/dense",
    "ffn.lin2": "ffn_1/intermediate/output/dense",
    "output_layer_norm": "LayerNorm_1",
}


def _names():
    scope, theirs = "bert/embeddings", _TABLES
    for table in ("word_embeddings", "position_embeddings"):
        yield f"{scope}/{table}", f"{theirs}.{table}.weight"
    yield from layer_names(f"{scope}/LayerNorm", f"{theirs}.LayerNorm")
    yield from layer_names("bert/pooler/dense", "pre_classifier")
    block = BLOCK.replace("inner_group_{}", "inner_group_0")
    for name, ours in _LAYERS.items():
        layer = f"distilbert.transformer.layer.{{}}.{name}"
        yield from layer_names(f"{block}/{ours}", layer)


class DistilBertFamily(BertFamily):
    """DistilBERT's configurations and names; it loads as `AlbertFamily`'s models."""

    config_file = "distilbert_config.json"
    huggingface_type = "distilbert"
    title = "DistilBERT"
    prefix = "DistilBert"
    encoder = "distilbert"
    names = NameTable([*_names()])
    tied = types.MappingProxyType(
        {
            "predictions.decoder.weight": f"{_TABLES}.word_embeddings.weight",
            "predictions.decoder.bias": "predictions.bias",
        }
    )
    takes = ("pooler_act", "tie_word_embeddings", "type_vocab_size")
    fixed = types.MappingProxyType({"pooler_act": "relu", "type_vocab_size": 0})
    heads = types.MappingProxyType(
        {
            "vocab_transform.": "predictions.dense.",
            "vocab_layer_norm.": "predictions.LayerNorm.",
            "vocab_projector.weight": "predictions.decoder.weight",
            "vocab_projector.bias": "predictions.bias",
        }
    )
    pooled = ("AlbertForSequenceClassification", "AlbertForMultipleChoice")
    unpooled = (
        *("AlbertModel", "AlbertForMaskedLM"),
        *("AlbertForTokenClassification", "AlbertForQuestionAnswering"),
    )

    def entries_from_huggingface(self, entries):
        dropout = entries.get("classifier_dropout_prob", 0.2)
        dropout = entries.get("seq_classif_dropout", dropout)
        return super().entries_from_huggingface(
            {**entries, "classifier_dropout": dropout}
        )

    def config_from_huggingface(self, entries, path):
        check_config(entries, path, {*_FIELDS, *_READ, *_HARMLESS})
        ours = {own: entries.get(key, usual) for key, (own, usual) in _FIELDS.items()}
        ours |= {**self.fixed, "embedding_size": ours["hidden_size"]}
        ours |= {"parameter_sharing": "none"}
        ours["hidden_act"] = our_activation(entries, "activation", "gelu", path)
        return AlbertConfig.from_dict(ours, source=path)

    def entries_of(self, config):
        return {
            **{key: getattr(config, own) for key, (own, _) in _FIELDS.items()},
            "activation": THEIR_ACTIVATIONS[config.hidden_act],
            "pad_token_id": 0,
        }


DISTILBERT = DistilBertFamily()
