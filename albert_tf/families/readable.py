"""The families whose checkpoints can be read, and which of them writes a model."""

from albert_tf.config import AlbertConfig
from albert_tf.families import registry
from albert_tf.families.albert_tf import ALBERT_TF
from albert_tf.families.bert import BERT
from albert_tf.families.bert import ROBERTA
from albert_tf.families.bert import XLM_ROBERTA
from albert_tf.families.deberta import DEBERTA
from albert_tf.families.distilbert import DISTILBERT
from albert_tf.families.electra import ELECTRA
from albert_tf.families.modernbert import MODERNBERT


def readable_families():
    """Lists the families whose checkpoints can be read, starting with the models'."""
    others = [
        BERT,
        ROBERTA,
        XLM_ROBERTA,
        MODERNBERT,
        DISTILBERT,
        ELECTRA,
        DEBERTA,
        ALBERT_TF,
    ]
    return [*registry.families(), *others]


def family_that_writes(model):
    """Returns the `ModelFamily` that writes a model in Hugging Face's format."""
    config, family = model.config, model.family
    if not isinstance(config, AlbertConfig):
        return family
    signs = {
        XLM_ROBERTA: config.is_roberta and config.is_xlm,
        ROBERTA: config.is_roberta,
        MODERNBERT: config.pooler_norm,
        DEBERTA: config.is_disentangled,
        DISTILBERT: not config.type_vocab_size,
        ELECTRA: config.pooler_act == ELECTRA.fixed["pooler_act"],
    }
    family = next((other for other, fits in signs.items() if fits), family)
    return family if family.holds(config) else ALBERT_TF
