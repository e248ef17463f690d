"""Checkpoints of BERT, RoBERTa and XLM-R, read as ALBERTs whose layers share nothing.

BERT is an ALBERT without sharing whose tables are as wide as its layers (Lan et al.,
section 3.1); only the names differ. RoBERTa (Liu et al., 2019) is BERT with other
positions, row layout and names; `AlbertConfig.padding_idx` selects them. Its text
classifier is a dense layer, tanh and a linear layer on the first token: ALBERT's pooler
and classifier. XLM-R is RoBERTa with another vocabulary. BERT's form is only read.
"""

import dataclasses
import re
import types

from albert_tf.config import AlbertConfig
from albert_tf.errors import UserError
from albert_tf.families.albert import ALBERT
from albert_tf.families.albert import HUGGINGFACE_FIELDS
from albert_tf.families.albert import SAME_KEYS
from albert_tf.families.albert import AlbertFamily
from albert_tf.families.albert import entries_of
from albert_tf.families.albert_names import BLOCK
from albert_tf.families.albert_names import TABLES
from albert_tf.families.base import OUR_ACTIVATIONS
from albert_tf.families.base import NameTable
from albert_tf.families.base import check_config
from albert_tf.families.base import layer_names
from albert_tf.families.base import our_activation
from albert_tf.families.layer_sharing import as_unshared
from albert_tf.io.files import read_json_object

# Google's code approximates "gelu" with tanh; Hugging Face computes it exactly.
_OFFICIAL_ACTIVATIONS = {name: name for name in ("gelu", "relu", "linear", "tanh")}
# Keys that BERT lacks, for the embedding mapping and sharing.
_ONLY_ALBERT = ("embedding_size", "num_hidden_groups", "inner_group_num")
KEYS = tuple(key for key in SAME_KEYS if key not in _ONLY_ALBERT)
# The defaults of Google's code and of Hugging Face's.
_DEFAULTS = {
    "hidden_size": 768,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "intermediate_size": 3072,
    "hidden_dropout_prob": 0.1,
    "attention_probs_dropout_prob": 0.1,
}
# Keys of other models; this package writes the last one into RoBERTa files.
_HARMLESS = ("embedding_size", "classifier_dropout_prob")
_READ = ("hidden_act", "layer_norm_eps", "classifier_dropout", *_HARMLESS)
_SUBLAYERS = {
    "attention/self/query": "attention_1/self/query",
    "attention/self/key": "attention_1/self/key",
    "attention/self/value": "attention_1/self/value",
    "attention/output/dense": "attention_1/output/dense",
    "attention/output/LayerNorm": "LayerNorm",
    "intermediate/dense": "ffn_1/intermediate/dense",
    "output/dense": "ffn_1/intermediate/output/dense",
    "output/LayerNorm": "LayerNorm_1",
}
_OFFICIAL_LAYER = re.compile(
    rf"bert/encoder/layer_(\d+)/({'|'.join(_SUBLAYERS)})/(?=\w+$)"
)


def encoder_names(encoder):
    """Pairs an unshared model's official names with the names below `encoder`."""
    pairs = [
        (f"bert/embeddings/{n}", f"{encoder}.embeddings.{n}.weight") for n in TABLES
    ]
    pairs += layer_names("bert/embeddings/LayerNorm", f"{encoder}.embeddings.LayerNorm")
    pairs += layer_names("bert/pooler/dense", f"{encoder}.pooler.dense")
    block = BLOCK.replace("inner_group_{}", "inner_group_0")
    for theirs, ours in _SUBLAYERS.items():
        layer = f"{encoder}.encoder.layer.{{}}.{theirs.replace('/', '.')}"
        pairs += layer_names(f"{block}/{ours}", layer)
    return pairs


_CLASSIFIER = "AlbertForSequenceClassification"
_HEADS = [
    *layer_names("cls/predictions/transform/dense", "cls.predictions.transform.dense"),
    *layer_names(
        "cls/predictions/transform/LayerNorm", "cls.predictions.transform.LayerNorm"
    ),
    ("cls/predictions/output_bias", "cls.predictions.bias"),
    ("cls/seq_relationship/output_weights", "cls.seq_relationship.weight"),
    ("cls/seq_relationship/output_bias", "cls.seq_relationship.bias"),
]


class BertFamily(AlbertFamily):
    """BERT's configurations and names; it loads as `AlbertFamily`'s models."""

    config_file = "bert_config.json"
    huggingface_type = "bert"
    title = "BERT"
    prefix = "Bert"  # of Hugging Face's class names
    encoder = "bert"
    # Fields of `AlbertConfig` beyond the official ones that its form can hold, and
    # those of one value.
    takes = HUGGINGFACE_FIELDS
    fixed = types.MappingProxyType({})
    maps_embeddings = False  # whether tables of another width are mapped
    # Beginnings of names of heads by Hugging Face's.
    heads = types.MappingProxyType({})
    # The models that keep the pooler; and others that Hugging Face has, if it lacks
    # any.
    pooled = ("AlbertModel", "AlbertForMultipleChoice")
    unpooled = None
    names = NameTable([*encoder_names("bert"), *_HEADS])
    read_as = ALBERT
    tied = {
        "cls.predictions.decoder.weight": "bert.embeddings.word_embeddings.weight",
        "cls.predictions.decoder.bias": "cls.predictions.bias",
    }

    def config_from_official(self, path):
        entries = read_json_object(path)
        return bert_config(entries, path, _OFFICIAL_ACTIVATIONS)

    def from_official(self, tensors):
        return {_our_name(name): tensor for name, tensor in tensors.items()}

    def entries_from_huggingface(self, entries):
        """Adds ALBERT's names of the models and of the classifier dropout."""
        names = entries.get("architectures")
        if isinstance(names, list):
            prefix = re.compile(f"^{self.prefix}(?=[A-Z])")
            names = [prefix.sub("Albert", str(name)) for name in names]
        dropout = entries.get("classifier_dropout")
        if dropout is None:
            dropout = entries.get("classifier_dropout_prob")
        if dropout is None:
            dropout = entries.get("hidden_dropout_prob", 0.1)
        return {**entries, "architectures": names, "classifier_dropout_prob": dropout}

    def special_tokens(self, tokenizer):
        return {"pad_token_id": tokenizer.pad_id}

    def architecture(self, name):
        return re.sub("^Albert", self.prefix, name)

    def config_from_huggingface(self, entries, path):
        return bert_config(entries, path)

    def entries_of(self, config):
        """Returns the entries of a `config.json` for a config of unshared layers."""
        return entries_of(config, KEYS)

    def names_from_huggingface(self, tensors, architectures):
        return {_renamed(n, self.heads): tensor for n, tensor in tensors.items()}

    def names_to_huggingface(self, tensors, architecture):
        """Reverts `names_from_huggingface` for a model class of this package."""
        heads = {
            ours: theirs
            for theirs, ours in self.heads.items()
            if architecture == _CLASSIFIER or not theirs.startswith("classifier.")
        }
        return {_renamed(n, heads): tensor for n, tensor in tensors.items()}

    def holds(self, config):
        # It has a block a layer; of most, embeddings are as wide as the layers.
        is_wide = config.embedding_size == config.hidden_size
        return (
            config.has_embedding_mapping == (self.maps_embeddings and not is_wide)
            and config.inner_group_num == 1
            and all(getattr(config, n) == value for n, value in self.fixed.items())
            and not config.unofficial_blocks(self.takes)
        )

    def to_huggingface(self, config, tensors, head_names, architecture=None):
        """Converts to one layer per block; drops a pooler that Hugging Face lacks.

        Raises:
            UserError: a class that Hugging Face's model lacks.
        """
        if self.unpooled and architecture not in (*self.pooled, *self.unpooled):
            raise UserError(
                f"Hugging Face's {self.title} has no class like {architecture}; write "
                "the model as a model directory, or as an AlbertForMaskedLM."
            )
        config, tensors = as_unshared(config, tensors)
        theirs = self._renamed(tensors, head_names, architecture in self.pooled)
        if self.unpooled:
            theirs.pop("predictions.decoder.bias", None)  # a copy
        return self.entries_of(config), self.names_to_huggingface(theirs, architecture)


BERT = BertFamily()


def _renamed(name, beginnings):
    """Replaces the first of `beginnings` that a name has."""
    for old, new in beginnings.items():
        if name.startswith(old):
            return new + name.removeprefix(old)
    return name


def bert_config(entries, path, activations=OUR_ACTIVATIONS, **changes):
    """Makes an `AlbertConfig` from the entries of a BERT or RoBERTa config."""
    check_config(entries, path, {*KEYS, *_READ})
    keys = (*KEYS, *HUGGINGFACE_FIELDS)
    ours = {**_DEFAULTS, **{key: entries[key] for key in keys if key in entries}}
    ours["hidden_act"] = our_activation(
        entries, "hidden_act", "gelu", path, activations
    )
    ours |= {"embedding_size": ours["hidden_size"], "parameter_sharing": "none"}
    return AlbertConfig.from_dict({**ours, **changes}, source=path)


def _our_name(official):
    """Returns the official ALBERT name of a variable of the official BERT."""
    return _OFFICIAL_LAYER.sub(
        lambda found: f"{BLOCK.format(found[1], 0)}/{_SUBLAYERS[found[2]]}/", official
    )


# Defaults of Hugging Face's RoBERTa.
_ROBERTA_DEFAULTS = {"layer_norm_eps": 1e-12, "pad_token_id": 1}


class RobertaFamily(BertFamily):
    """RoBERTa's configurations and names; it loads as `AlbertFamily`'s models."""

    config_file = "roberta_config.json"
    huggingface_type = "roberta"
    title = "RoBERTa"
    prefix = "Roberta"
    encoder = "roberta"
    takes = (*HUGGINGFACE_FIELDS, "padding_idx")
    heads = types.MappingProxyType(
        {
            "lm_head.layer_norm.": "predictions.LayerNorm.",
            "lm_head.": "predictions.",
            "classifier.dense.": "roberta.pooler.dense.",
            "classifier.out_proj.": "classifier.",
        }
    )
    pooled = (*BertFamily.pooled, _CLASSIFIER)
    names = NameTable(encoder_names("roberta"))
    tied = {
        "predictions.decoder.weight": "roberta.embeddings.word_embeddings.weight",
        "predictions.decoder.bias": "predictions.bias",
    }

    def config_from_huggingface(self, entries, path):
        entries = {**_ROBERTA_DEFAULTS, **entries}
        rows = entries.get("max_position_embeddings", 514)
        padding = entries["pad_token_id"]
        if type(rows) is not int or type(padding) is not int or rows <= padding + 1:
            raise UserError(
                f"{path} sets max_position_embeddings to {rows!r} and pad_token_id to "
                f"{padding!r}, expected numbers, the former greater by 2 or more."
            )
        return bert_config(
            {"type_vocab_size": 1, **entries},
            path,
            padding_idx=padding,
            # No token uses the rows up to the padding's.
            max_position_embeddings=rows - padding - 1,
        )

    def entries_of(self, config):
        return {
            **super().entries_of(config),
            "max_position_embeddings": config.position_rows,
            "pad_token_id": config.padding_idx,
            "bos_token_id": 0,
            "eos_token_id": 2,
        }


ROBERTA = RobertaFamily()


class XlmRobertaFamily(RobertaFamily):
    """XLM-R's configurations: RoBERTa's with other pieces (Conneau et al., 2019)."""

    config_file = "xlm_roberta_config.json"
    huggingface_type = "xlm-roberta"
    title = "XLM-R"
    prefix = "XLMRoberta"
    takes = (*RobertaFamily.takes, "is_xlm")

    def config_from_huggingface(self, entries, path):
        config = super().config_from_huggingface(entries, path)
        return dataclasses.replace(config, is_xlm=True)


XLM_ROBERTA = XlmRobertaFamily()
