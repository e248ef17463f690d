"""The families whose checkpoints can be read, and which of them writes a model."""

from albert_tf.config import AlbertConfig
from albert_tf.families import registry
from albert_tf.families.bert import BERT
from albert_tf.families.bert import ROBERTA
from albert_tf.families.modernbert import MODERNBERT


def readable_families():
    """Lists the families whose checkpoints can be read, starting with the models'."""
    return [*registry.families(), BERT, ROBERTA, MODERNBERT]


def family_that_writes(model):
    """Returns the `ModelFamily` that writes a model in Hugging Face's format."""
    config = model.config
    if not isinstance(config, AlbertConfig):
        return model.family
    if config.is_roberta:
        return ROBERTA
    return MODERNBERT if config.pooler_norm else model.family
