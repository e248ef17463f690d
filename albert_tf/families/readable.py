"""The families whose checkpoints can be read, and which of them writes a model."""

from albert_tf.config import AlbertConfig
from albert_tf.families import registry
from albert_tf.families.albert_tf import ALBERT_TF
from albert_tf.families.bert import BERT
from albert_tf.families.bert import ROBERTA
from albert_tf.families.modernbert import MODERNBERT


def readable_families():
    """Lists the families whose checkpoints can be read, starting with the models'."""
    return [*registry.families(), BERT, ROBERTA, MODERNBERT, ALBERT_TF]


def family_that_writes(model):
    """Returns the `ModelFamily` that writes a model in Hugging Face's format."""
    config, family = model.config, model.family
    if not isinstance(config, AlbertConfig):
        return family
    if config.is_roberta:
        family = ROBERTA
    elif config.pooler_norm:
        family = MODERNBERT
    return family if family.holds(config) else ALBERT_TF
