"""A model and its tokenizer, from one place."""

from albert_tf.checkpoints.loading import family_of
from albert_tf.checkpoints.model_directory import is_model_directory
from albert_tf.checkpoints.model_directory import read_head
from albert_tf.families.xlnet import XLNET
from albert_tf.hub.names import local_directory
from albert_tf.models.masked_lm import AlbertForMaskedLM
from albert_tf.models.replaced_tokens import AlbertForReplacedTokens
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
    """Returns the class by which a directory scores texts, from what it holds.

    Args:
        model_dir: as `from_pretrained`.
    """
    directory = local_directory(model_dir)
    if family_of(directory) is XLNET:
        return XLNetLMHeadModel
    saved = read_head(directory)[0] if is_model_directory(directory) else None
    return saved if saved is AlbertForReplacedTokens else AlbertForMaskedLM
