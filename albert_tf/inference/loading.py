"""A model and its tokenizer, from one place."""

from albert_tf.checkpoints.loading import family_of
from albert_tf.checkpoints.loading import load_pretrained
from albert_tf.checkpoints.model_directory import is_model_directory
from albert_tf.checkpoints.model_directory import read_head
from albert_tf.families.xlnet import XLNET
from albert_tf.models.masked_lm import AlbertForMaskedLM
from albert_tf.models.replaced_tokens import AlbertForReplacedTokens
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
    model = load_pretrained(model_class, directory, arguments, allow_missing)
    return model, tokenizer_for_model(tokenizer, model.config, directory)


def language_model_class(directory):
    """Returns the class by which a directory scores texts, from its contents.

    Args:
        directory: as of `load`.
    """
    if family_of(directory) is XLNET:
        return XLNetLMHeadModel
    saved = read_head(directory)[0] if is_model_directory(directory) else None
    return saved if saved is AlbertForReplacedTokens else AlbertForMaskedLM
