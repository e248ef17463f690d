"""A model and its tokenizer, from one place."""

from albert_tf.checkpoints.loading import family_of
from albert_tf.hub.names import local_directory
from albert_tf.models.masked_lm import AlbertForMaskedLM
from albert_tf.models.xlnet.family import XLNET
from albert_tf.models.xlnet.language_model import XLNetLMHeadModel
from albert_tf.tokenization import load_tokenizer
from albert_tf.tokenization.loading import tokenizer_for_model


def load(model_class, model_dir, **arguments):
    """The model of a directory, and the tokenizer that lies beside it.

    Args:
        model_class: a `PretrainedModel`.
        model_dir: as `from_pretrained`.
        **arguments: constructor arguments of the model.

    Raises:
        UserError: one of them is missing, or they do not fit.
    """
    tokenizer = load_tokenizer(model_dir)
    model = model_class.from_pretrained(model_dir, **arguments)
    return model, tokenizer_for_model(tokenizer, model.config, model_dir)


def language_model_class(model_dir):
    """Returns the class of the language model of a directory: XLNet's, or of masks.

    Args:
        model_dir: as `from_pretrained`.
    """
    is_xlnet = family_of(local_directory(model_dir)) is XLNET
    return XLNetLMHeadModel if is_xlnet else AlbertForMaskedLM
