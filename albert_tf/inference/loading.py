"""A model and its tokenizer, from one place."""

from albert_tf.checkpoints.loading import load_pretrained
from albert_tf.checkpoints.loading import read_checkpoint
from albert_tf.families.xlnet import XLNET
from albert_tf.models.albert import AlbertModel
from albert_tf.models.masked_lm import AlbertForMaskedLM
from albert_tf.models.replaced_tokens import AlbertForReplacedTokens
from albert_tf.models.xlnet.encoder import XLNetModel
from albert_tf.models.xlnet.language_model import XLNetLMHeadModel
from albert_tf.tokenization.loading import read_tokenizer
from albert_tf.tokenization.loading import tokenizer_for_model


def load(choose_class, directory, **arguments):
    """Loads the model of a directory, and the tokenizer that lies beside it.

    Args:
        choose_class: from a `Checkpoint` to the class of the model, such as
            `encoder_class`.
        directory: of `hub.names.local_directory`.
        **arguments: constructor arguments of the model.

    Raises:
        UserError: one of them is missing, or they do not fit.
    """
    tokenizer, checkpoint = read_tokenizer(directory), read_checkpoint(directory)
    model_class = choose_class(checkpoint)
    arguments = {**model_class.family.alone, **arguments}
    model = load_pretrained(model_class, checkpoint, arguments)
    return model, tokenizer_for_model(tokenizer, model.config, directory)


def encoder_class(checkpoint):
    """Returns the class of the encoder of a checkpoint."""
    return XLNetModel if checkpoint.family is XLNET else AlbertModel


def guessing_class(checkpoint):
    """Returns the class by which the model of a checkpoint guesses hidden tokens."""
    return XLNetLMHeadModel if checkpoint.family is XLNET else AlbertForMaskedLM


def language_model_class(checkpoint):
    """Returns the class by which a checkpoint scores texts."""
    if AlbertForReplacedTokens in checkpoint.saved:
        return AlbertForReplacedTokens
    return guessing_class(checkpoint)
