"""ALBERT's configuration and names in official and Hugging Face's checkpoints."""

import dataclasses

import numpy as np

from albert_tf.config import AlbertConfig
from albert_tf.costs.albert import encoder_parameters
from albert_tf.families.albert_names import huggingface_name
from albert_tf.families.albert_names import official_name
from albert_tf.families.base import ModelFamily
from albert_tf.families.base import our_activation
from albert_tf.families.base import require_entries
from albert_tf.families.base import turned
from albert_tf.families.layer_sharing import unshare

# Their "gelu" is the exact function; the official code's is "gelu_new".
OUR_ACTIVATIONS = {
    "gelu": "gelu_erf",
    "gelu_new": "gelu",
    "linear": "linear",
    "relu": "relu",
    "tanh": "tanh",
}
_THEIR_ACTIVATIONS = {ours: theirs for theirs, ours in OUR_ACTIVATIONS.items()}
SAME_KEYS = (
    "vocab_size",
    "embedding_size",
    "hidden_size",
    "num_hidden_layers",
    "num_hidden_groups",
    "num_attention_heads",
    "intermediate_size",
    "inner_group_num",
    "hidden_dropout_prob",
    "attention_probs_dropout_prob",
    "max_position_embeddings",
    "type_vocab_size",
    "initializer_range",
)
# Under other values their model computes another function than ours.
_REQUIRED = {
    "layer_norm_eps": 1e-12,
    "position_embedding_type": "absolute",
    "tie_word_embeddings": True,
}
_SPECIAL_TOKENS = {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3}
_MAPPING = "bert/encoder/embedding_hidden_mapping_in"


class AlbertFamily(ModelFamily):
    """The models with an ALBERT encoder."""

    config_class = AlbertConfig
    config_file = AlbertConfig.file_name
    huggingface_type = "albert"
    encoder = "albert"
    known_heads = ("cls/", "exit_heads/", "generator/", "generator_predictions/")
    tied = {
        "predictions.decoder.weight": "albert.embeddings.word_embeddings.weight",
        "predictions.decoder.bias": "predictions.bias",
    }

    def official_name(self, theirs):
        return official_name(theirs)

    def encoder_parameters(self, config):
        return sum(encoder_parameters(config).values())

    def to_official(self, config, tensors):
        """Splits groups to one a layer where layers share only some sublayers."""
        config.require_official_blocks("A checkpoint of the official code")
        return unshare(config, tensors)

    def config_from_huggingface(self, entries, path):
        require_entries(entries, _REQUIRED, path)
        ours = {key: entries[key] for key in SAME_KEYS if key in entries}
        ours["hidden_act"] = our_activation(
            entries, "hidden_act", "gelu_new", OUR_ACTIVATIONS, path
        )
        config = AlbertConfig.from_dict(ours, source=path)
        equal = config.embedding_size == config.hidden_size
        return dataclasses.replace(config, always_map_embeddings=equal)

    def to_huggingface(self, config, tensors, head_names, architecture=None):
        """Converts as `to_official`; adds an identity as the embeddings' mapping."""
        config.require_official_blocks("Hugging Face's ALBERT")
        config, tensors = unshare(config, tensors)
        if not config.has_embedding_mapping:
            # Their model always has one.
            identity = np.eye(config.hidden_size, dtype=np.float32)
            zeros = np.zeros(config.hidden_size, np.float32)
            tensors = {
                **tensors,
                f"{_MAPPING}/kernel": identity,
                f"{_MAPPING}/bias": zeros,
            }
        theirs = {}
        for official, tensor in tensors.items():
            name = head_names.get(official) or huggingface_name(official)
            theirs[name] = turned(official, tensor)
        entries = {
            **_REQUIRED,
            **{key: getattr(config, key) for key in SAME_KEYS},
            "hidden_act": _THEIR_ACTIVATIONS[config.hidden_act],
            **_SPECIAL_TOKENS,
        }
        return entries, theirs


ALBERT = AlbertFamily()
