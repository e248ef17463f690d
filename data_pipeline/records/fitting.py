"""Checks that a data set fits the model to be trained; they raise `UserError`."""

from absl import logging

from albert_tf.errors import UserError
from albert_tf.tokenization.tokenizer import UNRECORDED
from data_pipeline.records import dataset_info
from data_pipeline.records.dataset_info import PERMUTATION


def check_objective(info, where, objective):
    """Refuses data that is for another objective.

    Args:
        info: the contents of dataset_info.json.
        where: its folder.
        objective: "masked_lm" or "permutation_lm".
    """
    made_for = "permutation_lm" if info["kind"] == PERMUTATION else "masked_lm"
    if made_for != objective:
        raise UserError(
            f"The data set in {where} was made with --objective={made_for}, but this "
            f"run trains with --objective={objective}; pass "
            f"--objective={made_for} and a configuration of "
            f"{'XLNet' if made_for == 'permutation_lm' else 'ALBERT'}, or make the "
            f"data with --objective={objective}."
        )


def check_tokenizer(info, where, tokenizer, is_needed):
    """Refuses data that was made with another tokenizer than the model's.

    Data of a version that did not record the segmentation is read, with a warning.

    Args:
        info, where: as of `check_objective`.
        tokenizer: the model's, or None.
        is_needed: whether the data cannot be read without.
    """
    if tokenizer is None:
        if is_needed:
            raise UserError(
                f"The data set in {where} is masked while training, which needs the "
                "vocabulary: pass --spm_model_file or --vocab_file (in Python, "
                "tokenizer)."
            )
        return
    made_with = info["tokenizer"]["fingerprint"]
    if made_with == tokenizer.fingerprint():
        return
    if made_with != tokenizer.earlier_fingerprint():
        raise UserError(
            f"The data set in {where} was made with another tokenizer "
            f"({_in_words(info['tokenizer'])}) than the model's "
            f"({_in_words(dataset_info.of_tokenizer(tokenizer))}); make it again with "
            "the model's."
        )
    logging.warning("The data set in %s: %s.", where, UNRECORDED)


def _in_words(facts):
    """Describes a tokenizer by its recorded facts, without the fingerprint."""
    unnamed = ("kind", "vocab_size", "fingerprint")
    rules = (f", {name}={facts[name]}" for name in facts if name not in unnamed)
    return f"{facts['kind']}, {facts['vocab_size']} pieces{''.join(rules)}"


def refuse(where, name, made, wanted):
    """Refuses a length that differs from the length of the data."""
    raise UserError(
        f"The data set in {where} was made with {name}={made}, but training "
        f"asks for {wanted}; pass {name}={made} or make the data set again."
    )
