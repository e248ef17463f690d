"""Checkpoints of ELECTRA, discriminators and generators, read as unshared ALBERTs.

Clark et al., arXiv 2003.10555. Its tables may be narrower than its layers, and its
classifier of texts has a pooler with GELU.
"""

import types

from albert_tf.families.albert import HUGGINGFACE_FIELDS
from albert_tf.families.base import NameTable
from albert_tf.families.base import layer_names
from albert_tf.families.bert import BertFamily
from albert_tf.families.bert import bert_config
from albert_tf.families.bert import encoder_names
from albert_tf.io.foreign import check_settings

_DEFAULTS = {"hidden_size": 256, "num_attention_heads": 4, "intermediate_size": 1024}
_DEFAULTS |= {"embedding_size": 128, "vocab_size": 30522}
# The settings of the head of multiple choice, whose summary is the pooler here.
_SUMMARY = {
    "summary_activation": ("gelu",),
    "summary_proj_to_labels": (False,),
    "summary_type": ("first",),
    "summary_use_proj": (True,),
}
_DROPOUTS = ("summary_first_dropout", "summary_last_dropout")
_DISCRIMINATOR = "discriminator_predictions"
_NAMES = [
    *encoder_names("electra"),
    *layer_names(
        "bert/encoder/embedding_hidden_mapping_in", "electra.embeddings_project"
    ),
    *layer_names(f"{_DISCRIMINATOR}/dense", f"{_DISCRIMINATOR}.dense"),
    *layer_names(f"{_DISCRIMINATOR}/dense_1", f"{_DISCRIMINATOR}.dense_prediction"),
]
_REPLACED = "AlbertForReplacedTokens"


class ElectraFamily(BertFamily):
    """ELECTRA's configurations and names; it loads as `AlbertFamily`'s models."""

    config_file = "electra_config.json"
    huggingface_type = "electra"
    title = "ELECTRA"
    prefix = "Electra"
    encoder = "electra"
    names = NameTable(_NAMES)
    tied = types.MappingProxyType(
        {
            "predictions.decoder.weight": "electra.embeddings.word_embeddings.weight",
            "predictions.decoder.bias": "predictions.bias",
        }
    )
    takes = (*HUGGINGFACE_FIELDS, "pooler_act")
    fixed = types.MappingProxyType({"pooler_act": "gelu_erf"})
    maps_embeddings = True
    heads = types.MappingProxyType(
        {
            "generator_predictions.dense.": "predictions.dense.",
            "generator_predictions.LayerNorm.": "predictions.LayerNorm.",
            "generator_lm_head.weight": "predictions.decoder.weight",
            "generator_lm_head.bias": "predictions.bias",
            "sequence_summary.summary.": "electra.pooler.dense.",
            "classifier.dense.": "electra.pooler.dense.",
            "classifier.out_proj.": "classifier.",
        }
    )
    pooled = ("AlbertForSequenceClassification", "AlbertForMultipleChoice")
    unpooled = (
        *("AlbertModel", "AlbertForMaskedLM", _REPLACED),
        *("AlbertForTokenClassification", "AlbertForQuestionAnswering"),
    )

    def architecture(self, name):
        name = "AlbertForPreTraining" if name == _REPLACED else name
        return super().architecture(name)

    def config_from_huggingface(self, entries, path):
        entries = {**_DEFAULTS, **entries}
        known = {*_SUMMARY, *_DROPOUTS, "embedding_size"}
        if "ElectraForMultipleChoice" in (entries.get("architectures") or ()):
            settings = {key: entries[key] for key in _SUMMARY if key in entries}
            check_settings(settings, path, (), _SUMMARY)
        ours = {name: value for name, value in entries.items() if name not in known}
        return bert_config(
            ours, path, **self.fixed, embedding_size=entries["embedding_size"]
        )

    def entries_of(self, config):
        return {**super().entries_of(config), "embedding_size": config.embedding_size}


ELECTRA = ElectraFamily()
