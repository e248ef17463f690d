"""ALBERT's configuration and variable names in official and HF checkpoints."""

import dataclasses

import numpy as np

from albert_tf.config import AlbertConfig
from albert_tf.errors import UserError
from albert_tf.families.albert_names import NAMES
from albert_tf.families.base import THEIR_ACTIVATIONS
from albert_tf.families.base import ModelFamily
from albert_tf.families.base import check_config
from albert_tf.families.base import our_activation
from albert_tf.families.base import turned
from albert_tf.families.head_variables import OUTPUT_EMBEDDINGS
from albert_tf.families.layer_sharing import unshare

SAME_KEYS = tuple(key for key in AlbertConfig.official_keys if key != "hidden_act")
_READ = ("hidden_act", "layer_norm_eps", "classifier_dropout_prob")
# Fields that Hugging Face's models have beyond the official ones.
HUGGINGFACE_FIELDS = ("layer_norm_eps", "tie_word_embeddings")
_SPECIAL_TOKENS = {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3}
# Hugging Face's models whose encoder has no pooler.
UNPOOLED = tuple(
    f"AlbertFor{head}"
    for head in ("MaskedLM", "QuestionAnswering", "TokenClassification")
)
_MAPPING = "bert/encoder/embedding_hidden_mapping_in"


class AlbertFamily(ModelFamily):
    """The models with an ALBERT encoder."""

    config_class = AlbertConfig
    config_file = AlbertConfig.file_name
    huggingface_type = "albert"
    title = "ALBERT"
    encoder = "albert"
    names = NAMES
    known_heads = ("cls/", "exit_heads/", "generator/", "generator_predictions/")
    tied = {
        "predictions.decoder.weight": "albert.embeddings.word_embeddings.weight",
        "predictions.decoder.bias": "predictions.bias",
    }

    def to_official(self, config, tensors):
        """Makes one group per layer if layers share only some sublayers."""
        if OUTPUT_EMBEDDINGS.official not in tensors:
            config = dataclasses.replace(config, tie_word_embeddings=True)
        if changed := config.unofficial_blocks():
            raise UserError(
                "A checkpoint of the official code cannot hold blocks with "
                f"{', '.join(changed)}; leave the model in a model directory, write "
                "the format huggingface, or train one with official blocks."
            )
        return unshare(config, tensors)

    def holds(self, config):
        """Returns whether Hugging Face's model computes what `config` describes."""
        return not config.unofficial_blocks(HUGGINGFACE_FIELDS)

    def config_from_huggingface(self, entries, path):
        check_config(entries, path, {*SAME_KEYS, *_READ, *AlbertConfig.inert_keys})
        keys = (*SAME_KEYS, *HUGGINGFACE_FIELDS)
        ours = {key: entries[key] for key in keys if key in entries}
        ours["hidden_act"] = our_activation(entries, "hidden_act", "gelu_new", path)
        config = AlbertConfig.from_dict(ours, source=path)
        equal = config.embedding_size == config.hidden_size
        return dataclasses.replace(config, always_map_embeddings=equal)

    def to_huggingface(self, config, tensors, head_names, architecture=None):
        """Converts like `to_official`; adds an identity as embedding mapping."""
        config, tensors = unshare(config, tensors)
        if not config.has_embedding_mapping:
            # Hugging Face's model always has a mapping.
            identity = np.eye(config.hidden_size, dtype=np.float32)
            zeros = np.zeros(config.hidden_size, np.float32)
            tensors = {
                **tensors,
                f"{_MAPPING}/kernel": identity,
                f"{_MAPPING}/bias": zeros,
            }
        theirs = self._renamed(tensors, head_names, architecture not in UNPOOLED)
        return {**entries_of(config, SAME_KEYS), **_SPECIAL_TOKENS}, theirs

    def _renamed(self, tensors, head_names, has_pooler):
        """Returns tensors by Hugging Face's names, of a model with a pooler or none."""
        theirs = {
            self.huggingface_name(official, head_names): turned(official, tensor)
            for official, tensor in tensors.items()
            if has_pooler or not official.startswith("bert/pooler/")
        }
        if OUTPUT_EMBEDDINGS.official in tensors and "predictions.bias" in theirs:
            # Hugging Face's untied projection reads its own copy of the bias.
            theirs["predictions.decoder.bias"] = theirs["predictions.bias"]
        return theirs


def entries_of(config, keys):
    """Returns the entries of a `config.json`: fields of an `AlbertConfig` by `keys`."""
    return {
        "position_embedding_type": "absolute",
        **{key: getattr(config, key) for key in (*keys, *HUGGINGFACE_FIELDS)},
        "hidden_act": THEIR_ACTIVATIONS[config.hidden_act],
    }


ALBERT = AlbertFamily()
