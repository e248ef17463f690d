"""The names of a head's variables here, in the official code and in transformers.

A model lists them in `head_table`, by joining results of the functions below.
"""

import collections

HeadVariable = collections.namedtuple(
    "HeadVariable", "attribute official huggingface", defaults=(None,)
)
"""The three names of one variable.

attribute: its path in the model, such as "classifier.output_bias". official: its name
in TF1 checkpoints; Hugging Face stores a "…/kernel" transposed. huggingface: its name
in transformers, or None if that lacks the head.
"""


def dense(attribute, official, huggingface=None):
    """Lists the variables of a Keras `Dense` layer."""
    names = ("kernel", "weight"), ("bias", "bias")
    return _two(attribute, f"{official}/", huggingface, *names)


def layer_norm(attribute, official, huggingface=None):
    """Lists the variables of a `LayerNorm`."""
    names = ("beta", "bias"), ("gamma", "weight")
    return _two(attribute, f"{official}/", huggingface, *names)


def _two(attribute, official_scope, huggingface, *names):
    return tuple(
        HeadVariable(
            f"{attribute}.{ours}",
            f"{official_scope}{ours}",
            huggingface and f"{huggingface}.{theirs}",
        )
        for ours, theirs in names
    )


def classification(attribute, huggingface, official_scope=""):
    """Lists a `ClassificationHead`'s variables; the scope ends in "/" or is empty."""
    names = ("output_weights", "weight"), ("output_bias", "bias")
    return _two(attribute, official_scope, huggingface, *names)


OUTPUT_EMBEDDINGS = HeadVariable(
    "masked_lm_head.output_embeddings",
    "cls/predictions/output_embeddings",
    "predictions.decoder.weight",
)
"""The untied projection of a `MaskedLMHead`."""


def masked_lm(attribute):
    """Lists a `MaskedLMHead`'s variables; its projection is the encoder's table."""
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


def answer_beams(attribute, in_huggingface=False):
    """Lists an `AnswerBeamsHead`'s variables; in transformers, only XLNet has one."""

    def named(official):
        return official, official.replace("/", ".") if in_huggingface else None

    kernel, theirs = named("answer_class/dense_1")
    return (
        *dense(f"{attribute}.start", *named("start_logits/dense")),
        *dense(f"{attribute}.end_hidden", *named("end_logits/dense_0")),
        *layer_norm(f"{attribute}.end_norm", *named("end_logits/LayerNorm")),
        *dense(f"{attribute}.end", *named("end_logits/dense_1")),
        *dense(f"{attribute}.answer_hidden", *named("answer_class/dense_0")),
        HeadVariable(
            f"{attribute}.answer.kernel",
            f"{kernel}/kernel",
            theirs and f"{theirs}.weight",
        ),
    )
