"""A model and its tokenizer, from one place."""

from albert_tf.checkpoints.loading import family_of
from albert_tf.checkpoints.loading import load_pretrained
from albert_tf.checkpoints.model_directory import is_model_directory
from albert_tf.checkpoints.model_directory import read_head
from albert_tf.families.xlnet import XLNET
from albert_tf.models.albert import AlbertModel
from albert_tf.models.masked_lm import AlbertForMaskedLM
from albert_tf.models.replaced_tokens import AlbertForReplacedTokens
from albert_tf.models.xlnet.encoder import XLNetModel
from albert_tf.models.xlnet.language_model import XLNetLMHeadModel
from albert_tf.tokenization.loading import read_tokenizer
from albert_tf.tokenization.loading import tokenizer_for_model


def load(model_class, directory, allow_missing=(), **arguments):
    """Loads the model of a directory, and the tokenizer that lies beside it.

    Args:
        model_class: a `PretrainedModel`.
        directory: of `hub.names.local_directory`.
        allow_missing: as of `from_pretrained`.
        **arguments: constructor arguments of the model.

    Raises:
        UserError: one of them is missing, or they do not fit.
    """
    tokenizer = read_tokenizer(directory)
    arguments = {**model_class.family.alone, **arguments}
    model = load_pretrained(model_class, directory, arguments, allow_missing)
    return model, tokenizer_for_model(tokenizer, model.config, directory)


def encoder_class(directory):
    """Returns the class of the encoder in a directory, as of `load`."""
    return XLNetModel if family_of(directory) is XLNET else AlbertModel


def guessing_class(directory):
    """Returns the class by which the model of a directory guesses hidden tokens.

    Args:
        directory: as of `load`.
    """
    return XLNetLMHeadModel if family_of(directory) is XLNET else AlbertForMaskedLM


def language_model_class(directory):
    """Returns the class by which a directory scores texts, from its contents.

    Args:
        directory: as of `load`.
    """
    saved = read_head(directory)[0] if is_model_directory(directory) else None
    is_discriminator = saved is AlbertForReplacedTokens
    return saved if is_discriminator else guessing_class(directory)
