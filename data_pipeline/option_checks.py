"""Checks of the options of create_pretraining_data, each alone and together."""

import dataclasses

from absl import logging

from albert_tf.cli.flag_fields import check_range
from albert_tf.errors import UserError
from data_pipeline.sequences.instances import PairingFlags
from data_pipeline.sequences.masking_options import MaskingFlags
from data_pipeline.sequences.masking_options import default_max_predictions

_FOR_BOTH = {"max_seq_length", "max_predictions_per_seq"}
_FOR_MASKED_LM = {
    "masking",
    "pack",
    "max_pairs_per_row",
    "token_counts_file",
    *(field.name for field in dataclasses.fields(PairingFlags)),
    *(field.name for field in dataclasses.fields(MaskingFlags)),
} - _FOR_BOTH
_FOR_PERMUTATION_LM = ("bi_data",)


def check(options):
    """Raises `UserError` for values that make no sense, and warns of unwise ones."""
    _check_ranges(options)
    if options.held_out_fraction == 1:
        raise UserError(
            "--held_out_fraction=1 leaves nothing to train on: expected less than 1; "
            "to make held-out data alone, run the command on that text without the "
            "flag."
        )
    if options.objective == "permutation_lm":
        _refuse(options, _FOR_MASKED_LM, "masked_lm")
        _check_length(options.max_seq_length)
        return
    _refuse(options, _FOR_PERMUTATION_LM, "permutation_lm")
    _check_together(options)
    wanted = default_max_predictions(options.max_seq_length, options.masked_lm_prob)
    given = options.max_predictions_per_seq
    if given is not None and given < wanted:
        logging.warning(
            "--max_predictions_per_seq=%d predicts fewer than %g%% of the tokens of a "
            "full sequence; pass %d to predict all of them",
            given,
            100 * options.masked_lm_prob,
            wanted,
        )


def _check_ranges(options):
    for field in dataclasses.fields(options):
        check_range(field, getattr(options, field.name))
    most, given = options.max_seq_length, options.max_predictions_per_seq
    if given is not None and given > most:
        raise UserError(
            f"--max_predictions_per_seq={given}: expected at least 1 and at most "
            f"{most}."
        )


def _check_together(options):
    """Refuses values that exclude each other."""
    if bool(options.mask_smoothing) != bool(options.token_counts_file):
        raise UserError(
            "--mask_smoothing and --token_counts_file need each other; pass both, or "
            "none. python -m data_pipeline.count_tokens writes the counts."
        )
    if options.official_sop and options.pair_objective != "sop":
        raise UserError(
            "--official_sop needs --sentence_objective=sop; leave one of the two out."
        )
    if not options.across_documents and options.pair_objective != "none":
        raise UserError(
            "--across_documents=false needs --sentence_objective=none: pairs of "
            "segments are of one document anyway; leave it out."
        )
    if options.pack and options.masking == "dynamic":
        raise UserError(
            "--pack puts masked pairs together and needs --masking=static; leave out "
            "--pack or --masking=dynamic."
        )


def _refuse(options, names, objective):
    """Refuses flags that say something about another objective."""
    for field in dataclasses.fields(options):
        value = getattr(options, field.name)
        if field.name in names and value != field.default:
            raise UserError(
                f"--{field.name}={value} needs --objective={objective}; leave one of "
                "the two out."
            )


def _check_length(max_seq_length):
    if max_seq_length % 2:
        raise UserError(
            f"--max_seq_length={max_seq_length} is odd, but --objective=permutation_lm "
            f"cuts a sequence into two halves; pass {max_seq_length + 1}."
        )
