"""A model and its tokenizer, from one place."""

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
