"""The names of a head's variables: here, in the official code and in Hugging Face's.

A model lists them in `head_table`, by what the functions below return.
"""

import dataclasses


@dataclasses.dataclass(frozen=True)
class HeadVariable:
    """The three names of one variable."""

    attribute: str  # of the model, such as "classifier.output_bias"
    official: str  # in TF1 checkpoints; Hugging Face's "…/kernel" is transposed
    huggingface: str


def dense(attribute, official, huggingface):
    """The variables of a Keras `Dense` layer."""
    return (
        HeadVariable(
            f"{attribute}.kernel", f"{official}/kernel", f"{huggingface}.weight"
        ),
        HeadVariable(f"{attribute}.bias", f"{official}/bias", f"{huggingface}.bias"),
    )


def layer_norm(attribute, official, huggingface):
    """The variables of a `LayerNorm`."""
    return (
        HeadVariable(f"{attribute}.beta", f"{official}/beta", f"{huggingface}.bias"),
        HeadVariable(
            f"{attribute}.gamma", f"{official}/gamma", f"{huggingface}.weight"
        ),
    )


def classification(attribute, huggingface, official_scope=""):
    """The variables of a `ClassificationHead`; the scope ends in "/" or is empty."""
    return (
        HeadVariable(
            f"{attribute}.output_weights",
            f"{official_scope}output_weights",
            f"{huggingface}.weight",
        ),
        HeadVariable(
            f"{attribute}.output_bias",
            f"{official_scope}output_bias",
            f"{huggingface}.bias",
        ),
    )


def masked_lm(attribute):
    """The variables of a `MaskedLMHead`; its projection is the encoder's table."""
    official, theirs = "cls/predictions", "predictions"
    return (
        *dense(
            f"{attribute}.transform", f"{official}/transform/dense", f"{theirs}.dense"
        ),
        *layer_norm(
            f"{attribute}.layer_norm",
            f"{official}/transform/LayerNorm",
            f"{theirs}.LayerNorm",
        ),
        HeadVariable(
            f"{attribute}.output_bias", f"{official}/output_bias", f"{theirs}.bias"
        ),
    )
