"""Checkpoints of DeBERTa-v2 and v3, read as ALBERTs whose layers share nothing.

DeBERTa (He et al., arXiv 2006.03654, 2111.09543) is BERT without position table, whose
attention scores the distance of two tokens; its classifier of texts has a pooler with
GELU. The released models share the projections of contents and distances.
"""

import re
import types

from albert_tf.families.base import THEIR_ACTIVATIONS
from albert_tf.families.base import NameTable
from albert_tf.families.base import layer_names
from albert_tf.families.base import our_activation
from albert_tf.families.bert import BertFamily
from albert_tf.families.bert import bert_config
from albert_tf.families.bert import encoder_names
from albert_tf.io.foreign import check_settings

_DEFAULTS = {
    "vocab_size": 128100,
    "hidden_size": 1536,
    "num_hidden_layers": 24,
    "num_attention_heads": 24,
    "intermediate_size": 6144,
    "type_vocab_size": 0,
    "layer_norm_eps": 1e-7,
}
# What the released models have, and what Hugging Face's have without the entry.
_RELEASED = {
    "relative_attention": (True, False),
    "share_att_key": (True, False),
    "position_biased_input": (False, True),
    "norm_rel_ebd": ("layer_norm", "none"),
    "pos_att_type": (["c2p", "p2c"], []),
    "tie_word_embeddings": (True, True),
}
_READ = "position_buckets pooler_hidden_act legacy cls_dropout"
# Dropout of the pooler, what belongs to a convolution, and how the vocabulary was made.
_HARMLESS = "conv_act conv_groups pooler_dropout vocab_type"
_DISENTANGLED = "disentangled"
_NEW_HEAD = "lm_predictions.lm_head."


def _names():
    for official, theirs in encoder_names("deberta"):
        yield official, re.sub(r"\.self\.(\w+)", r".self.\1_proj", theirs)
    yield "bert/encoder/relative_embeddings", "deberta.encoder.rel_embeddings.weight"
    yield from layer_names(
        "bert/encoder/relative_LayerNorm", "deberta.encoder.LayerNorm"
    )


class DebertaFamily(BertFamily):
    """DeBERTa's configurations and names; it loads as `AlbertFamily`'s models."""

    config_file = "deberta_config.json"
    huggingface_type = "deberta-v2"
    title = "DeBERTa"
    prefix = "DebertaV2"
    encoder = "deberta"
    names = NameTable([*_names()])
    tied = types.MappingProxyType(
        {
            "predictions.decoder.weight": "deberta.embeddings.word_embeddings.weight",
            "predictions.decoder.bias": "predictions.bias",
        }
    )
    takes = (
        *("layer_norm_eps", "pooler_act", "position_embedding_type"),
        *("position_buckets", "type_vocab_size"),
    )
    fixed = types.MappingProxyType({"position_embedding_type": _DISENTANGLED})
    heads = types.MappingProxyType(
        {
            "cls.predictions.transform.dense.": "predictions.dense.",
            "cls.predictions.transform.LayerNorm.": "predictions.LayerNorm.",
            "cls.predictions.": "predictions.",
            "pooler.dense.": "deberta.pooler.dense.",
        }
    )
    pooled = ("AlbertForSequenceClassification", "AlbertForMultipleChoice")
    unpooled = (
        *("AlbertModel", "AlbertForMaskedLM"),
        *("AlbertForTokenClassification", "AlbertForQuestionAnswering"),
    )

    def entries_from_huggingface(self, entries):
        dropout = entries.get("cls_dropout")
        return super().entries_from_huggingface(
            {"classifier_dropout": dropout, **entries}
        )

    def config_from_huggingface(self, entries, path):
        """Reads the settings of released models, and refuses others.

        A kernel of convolution, which v2-xlarge has, is one of the others.
        """
        own = {key: usual for key, (_, usual) in _RELEASED.items()}
        told = {key: value for key, value in entries.items() if value is not None}
        entries = {**_DEFAULTS, **own, **told}
        kinds = entries["pos_att_type"]
        if isinstance(kinds, str):
            kinds = [kind.strip() for kind in kinds.lower().split("|")]
        entries["pos_att_type"] = sorted(kinds) if isinstance(kinds, list) else kinds
        width, most = (
            entries["hidden_size"],
            entries.get("max_position_embeddings", 512),
        )
        same = {"embedding_size": width, "pooler_hidden_size": width}
        fixed = {key: (value,) for key, (value, _) in _RELEASED.items()}
        fixed |= {key: (value,) for key, value in same.items()}
        fixed |= {"max_relative_positions": (-1, 0, most), "conv_kernel_size": (0,)}
        heads = entries["num_attention_heads"]
        if type(width) is type(heads) is int and heads > 0:
            fixed["attention_head_size"] = (width // heads,)
        of_deberta = {*fixed, *_READ.split(), *_HARMLESS.split()}
        check_settings(
            {key: entries[key] for key in entries if key in of_deberta},
            path,
            of_deberta,
            fixed,
        )
        buckets = entries.get("position_buckets")
        return bert_config(
            {key: entries[key] for key in entries if key not in of_deberta},
            path,
            **self.fixed,
            position_buckets=None if buckets in (None, -1, 0) else buckets,
            pooler_act=our_activation(entries, "pooler_hidden_act", "gelu", path),
        )

    def names_from_huggingface(self, tensors, architectures):
        """Reads the head of the language model in its old or its new form."""
        if f"{_NEW_HEAD}bias" in tensors and "cls.predictions.bias" not in tensors:
            tensors = {
                name.replace(_NEW_HEAD, "predictions."): tensor
                for name, tensor in tensors.items()
            }
        return super().names_from_huggingface(tensors, architectures)

    def entries_of(self, config):
        found = super().entries_of(config)
        del found["position_embedding_type"]
        return {
            **found,
            **{key: value for key, (value, _) in _RELEASED.items()},
            "max_relative_positions": -1,
            "position_buckets": config.position_buckets or -1,
            "pooler_hidden_act": THEIR_ACTIVATIONS[config.pooler_act],
            "pooler_hidden_size": config.hidden_size,
            "legacy": True,
            "pad_token_id": 0,
        }


DEBERTA = DebertaFamily()
