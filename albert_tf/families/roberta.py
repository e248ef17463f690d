"""RoBERTa's checkpoints, read as ALBERTs whose layers share nothing.

RoBERTa (Liu et al., 2019) is BERT with other positions, rows of texts and names, which
`AlbertConfig.padding_idx` stands for. Its classifier of texts is a dense layer, tanh
and a linear layer on the first token: a pooler and a classifier of ALBERT's.
"""

import re

from albert_tf.config import AlbertConfig
from albert_tf.errors import UserError
from albert_tf.families import registry
from albert_tf.families.albert import HUGGINGFACE_FIELDS
from albert_tf.families.base import THEIR_ACTIVATIONS
from albert_tf.families.base import turned
from albert_tf.families.bert import BERT
from albert_tf.families.bert import KEYS
from albert_tf.families.bert import SUBLAYERS
from albert_tf.families.bert import BertFamily
from albert_tf.families.bert import bert_config
from albert_tf.families.head_variables import OUTPUT_EMBEDDINGS
from albert_tf.families.layer_sharing import as_unshared

# What theirs has where a file says nothing.
_DEFAULTS = {"layer_norm_eps": 1e-5, "pad_token_id": 1}
_OUR_HEADS = {
    "lm_head.layer_norm.": "predictions.LayerNorm.",
    "lm_head.": "predictions.",
    "classifier.dense.": "roberta.pooler.dense.",
    "classifier.out_proj.": "classifier.",
}
_BLOCK = re.compile(r"bert/encoder/transformer/group_(\d+)/inner_group_0/(.+)")
_THEIR_SUBLAYERS = {ours: theirs for theirs, ours in SUBLAYERS.items()}
_PARAMETERS = {"kernel": "weight", "gamma": "weight", "beta": "bias", "bias": "bias"}
_POOLED = ("AlbertModel", "AlbertForMultipleChoice")
_CLASSIFIER = "AlbertForSequenceClassification"


class RobertaFamily(BertFamily):
    """RoBERTa's configurations and names; its models are `AlbertFamily`'s."""

    config_file = "roberta_config.json"
    huggingface_type = "roberta"
    encoder = "roberta"
    tied = {
        "predictions.decoder.weight": "roberta.embeddings.word_embeddings.weight",
        "predictions.decoder.bias": "predictions.bias",
    }

    def architecture(self, name):
        return re.sub("^Albert", "Roberta", name)

    def config_from_huggingface(self, entries, path):
        entries = {**_DEFAULTS, **entries}
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
            # Rows up to padding's are of no token.
            max_position_embeddings=rows - padding - 1,
        )

    def tensors_from_huggingface(self, tensors, head_names, path, is_tied=True):
        tensors = {_our_head(name): tensor for name, tensor in tensors.items()}
        return super().tensors_from_huggingface(tensors, head_names, path, is_tied)

    def official_name(self, theirs):
        return super().official_name(theirs.replace("roberta.", "bert.", 1))

    def to_huggingface(self, config, tensors, head_names, architecture=None):
        """Converts to a layer for each block; leaves the pooler out if theirs has none.

        Raises:
            UserError: embeddings that are not as wide as the layers, or several blocks
                a layer.
        """
        if config.has_embedding_mapping or config.inner_group_num > 1:
            raise UserError(
                "Hugging Face's RoBERTa has embeddings as wide as its layers, and one "
                "block a layer; write the model as a model directory."
            )
        fields = (*HUGGINGFACE_FIELDS, "padding_idx")
        config.require_official_blocks("Hugging Face's RoBERTa", fields)
        config, tensors = as_unshared(config, tensors)
        is_classifier = architecture == _CLASSIFIER
        theirs = {}
        for official, tensor in tensors.items():
            is_pooler = official.startswith("bert/pooler/")
            if is_pooler and not is_classifier and architecture not in _POOLED:
                continue
            name = head_names.get(official) or _huggingface_name(official)
            theirs[_their_head(name, is_classifier)] = turned(official, tensor)
        if OUTPUT_EMBEDDINGS.official in tensors:
            theirs["lm_head.decoder.bias"] = theirs["lm_head.bias"]
        return self._entries(config), theirs

    def _entries(self, config):
        keys = (*KEYS, *HUGGINGFACE_FIELDS)
        return {
            "position_embedding_type": "absolute",
            **{key: getattr(config, key) for key in keys},
            "max_position_embeddings": config.position_rows,
            "hidden_act": THEIR_ACTIVATIONS[config.hidden_act],
            "pad_token_id": config.padding_idx,
            "bos_token_id": 0,
            "eos_token_id": 2,
        }


ROBERTA = RobertaFamily()


def readable_families():
    """Lists the families whose checkpoints can be read, the models' first."""
    return [*registry.families(), BERT, ROBERTA]


def family_that_writes(model):
    """Returns the `ModelFamily` whose Hugging Face form a model has."""
    config = model.config
    is_roberta = isinstance(config, AlbertConfig) and config.is_roberta
    return ROBERTA if is_roberta else model.family


def _our_head(name):
    for theirs, ours in _OUR_HEADS.items():
        if name.startswith(theirs):
            return ours + name.removeprefix(theirs)
    return name


def _their_head(name, is_classifier):
    for theirs, ours in _OUR_HEADS.items():
        if name.startswith(ours) and (is_classifier or theirs.startswith("lm_head")):
            return theirs + name.removeprefix(ours)
    return name


def _huggingface_name(official):
    """Returns the Hugging Face name of the encoder's variable `official`.

    Raises:
        UserError: no RoBERTa of theirs has it.
    """
    block = _BLOCK.fullmatch(official)
    scope, _, parameter = (block[2] if block else official).rpartition("/")
    if block and scope in _THEIR_SUBLAYERS:
        scope = f"bert/encoder/layer/{block[1]}/{_THEIR_SUBLAYERS[scope]}"
    elif parameter.endswith("_embeddings"):
        scope, parameter = official, "gamma"
    elif scope not in ("bert/embeddings/LayerNorm", "bert/pooler/dense"):
        raise UserError(
            f"Hugging Face has no RoBERTa with {official}; write the model as a model "
            "directory."
        )
    theirs = scope.replace("bert/", "roberta.", 1).replace("/", ".")
    return f"{theirs}.{_PARAMETERS[parameter]}"
