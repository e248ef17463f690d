"""BERT's checkpoints, read as ALBERTs whose layers share nothing.

BERT is such an ALBERT with tables as wide as the layers (Lan et al., section 3.1); only
the names differ. Nothing is written in BERT's form.
"""

import re

from albert_tf.config import AlbertConfig
from albert_tf.families.albert import ALBERT
from albert_tf.families.albert import HUGGINGFACE_FIELDS
from albert_tf.families.albert import SAME_KEYS
from albert_tf.families.albert import AlbertFamily
from albert_tf.families.albert_names import block_scope
from albert_tf.families.base import OUR_ACTIVATIONS
from albert_tf.families.base import check_config
from albert_tf.families.base import our_activation
from albert_tf.io.files import read_json_object

# Google's code computes "gelu" by tanh, Hugging Face's exactly.
_OFFICIAL_ACTIVATIONS = {name: name for name in ("gelu", "relu", "linear", "tanh")}
# Of the embeddings' mapping, and of what layers share.
_ONLY_ALBERT = ("embedding_size", "num_hidden_groups", "inner_group_num")
KEYS = tuple(key for key in SAME_KEYS if key not in _ONLY_ALBERT)
# What Google's code and Hugging Face's have where a file says nothing.
_DEFAULTS = {
    "hidden_size": 768,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "intermediate_size": 3072,
    "hidden_dropout_prob": 0.1,
    "attention_probs_dropout_prob": 0.1,
}
# Of other models, as this package writes the last into RoBERTa's files.
_HARMLESS = ("embedding_size", "classifier_dropout_prob")
_READ = ("hidden_act", "layer_norm_eps", "classifier_dropout", *_HARMLESS)
_LAYER = re.compile(r"bert/encoder/layer_(\d+)/(.+)/(\w+)")
SUBLAYERS = {
    "attention/self/query": "attention_1/self/query",
    "attention/self/key": "attention_1/self/key",
    "attention/self/value": "attention_1/self/value",
    "attention/output/dense": "attention_1/output/dense",
    "attention/output/LayerNorm": "LayerNorm",
    "intermediate/dense": "ffn_1/intermediate/dense",
    "output/dense": "ffn_1/intermediate/output/dense",
    "output/LayerNorm": "LayerNorm_1",
}
_HEADS = {
    "cls.predictions.bias": "cls/predictions/output_bias",
    "cls.seq_relationship.weight": "cls/seq_relationship/output_weights",
    "cls.seq_relationship.bias": "cls/seq_relationship/output_bias",
}


class BertFamily(AlbertFamily):
    """BERT's configurations and names; its models are `AlbertFamily`'s."""

    config_file = "bert_config.json"
    huggingface_type = "bert"
    encoder = "bert"
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
        """Adds ALBERT's names of the models, and of the dropout before a classifier."""
        names = entries.get("architectures")
        if isinstance(names, list):
            prefix = re.compile(f"^{self.huggingface_type.capitalize()}(?=[A-Z])")
            names = [prefix.sub("Albert", str(name)) for name in names]
        dropout = entries.get("classifier_dropout")
        if dropout is None:
            dropout = entries.get("hidden_dropout_prob", 0.1)
        return {**entries, "architectures": names, "classifier_dropout_prob": dropout}

    def config_from_huggingface(self, entries, path):
        return bert_config(entries, path)

    def official_name(self, theirs):
        return _HEADS.get(theirs) or _our_name(_official_name(theirs))


BERT = BertFamily()


def bert_config(entries, path, activations=OUR_ACTIVATIONS, **changes):
    """Makes the `AlbertConfig` of the entries of a file of BERT's or of its likes."""
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
    match = _LAYER.fullmatch(official)
    if match is None or match[2] not in SUBLAYERS:
        return official
    layer, sublayer, parameter = match.groups()
    return f"{block_scope(f'{layer}_0')}/{SUBLAYERS[sublayer]}/{parameter}"


def _official_name(theirs):
    """Returns the official BERT name of a tensor of Hugging Face's BERT."""
    scope, _, parameter = theirs.rpartition(".")
    scope = re.sub(r"\.layer\.(\d+)\.", r".layer_\1.", scope).replace(".", "/")
    if scope.endswith("_embeddings"):
        return scope
    # The first checkpoints call the parameters of a norm as the official code does.
    names = {"weight": "kernel", "bias": "bias"}
    if scope.endswith("LayerNorm"):
        names = {"weight": "gamma", "bias": "beta", "gamma": "gamma", "beta": "beta"}
    return f"{scope}/{names[parameter]}" if parameter in names else theirs
