"""Comparisons beyond the ALBERT paper: RoBERTa's, XLNet's and this project's own.

Source: Liu et al., arXiv 1907.11692, tables 1 and 3; Yang et al., arXiv 1906.08237,
table 6.
"""

from benchmarks.paper.rows import MUON
from benchmarks.paper.rows import Row
from benchmarks.paper.rows import Table

UNSHARED = {"embedding_size": 128, "parameter_sharing": "none"}
"""The tiny configuration as a BERT: nothing shared, E = H."""

_FROM_THE_MEAN = {"init_layers": "mean"}
_MUON = {**MUON, "lr_schedule": "wsd"}
_MORE_MASKS = {"masked_lm_prob": 0.3, "max_predictions_per_seq": 20}
# Layers that a short run can make use of, at least with the block of today.
_RECIPE = {"hidden_size": 192, "num_attention_heads": 3, "num_hidden_layers": 4}
_RECIPE |= {"embedding_size": 128, "intermediate_size": 768}


# Each adds one thing to an earlier one: name, block, changes, flags.
_RECIPES = (
    ("official block, LAMB, 15% masked", "official", {}, {}),
    ("block of today", "modern", {}, {}),
    ("+ Muon, WSD", "modern", {}, _MUON),
    ("+ 30% masked", "modern", {}, _MUON | _MORE_MASKS),
    (
        "+ from 30% to 15% masked",
        "modern",
        {},
        _MUON | _MORE_MASKS | {"final_masked_lm_prob": 0.15},
    ),
    ("replaced tokens instead", "modern", {}, _MUON | {"objective": "replaced_tokens"}),
    (
        "30% masked, nothing shared",
        "modern",
        {"parameter_sharing": "none"},
        _MUON | _MORE_MASKS,
    ),
)
_XLNET_EVALUATIONS = {"spans": {"max_gram": 5}, "single tokens": {"max_gram": 1}}

COMPARISONS = {
    "masking": Table(
        title="Static and dynamic masks (RoBERTa, table 1), and smoothed ones",
        conclusion="new masks in each epoch are as good as fixed ones or slightly "
        "better",
        rows=tuple(
            Row(
                name=f"{kind} masks{', smoothed' * bool(smoothing)}",
                data={"masking": kind, **smoothing},
            )
            for smoothing in ({}, {"mask_smoothing": 0.7})
            for kind in ("static", "dynamic")
        ),
    ),
    "batch": Table(
        title="Batch size at equal tokens (RoBERTa, table 3)",
        conclusion="larger batches are better, with a rate that is tuned for each",
        rows=tuple(
            Row(
                name=f"{size} sequences",
                flags={"train_batch_size": size, "learning_rate": rate},
                steps=32 / size,
            )
            for size, rate in ((16, 0.0035), (32, 0.005), (64, 0.007), (128, 0.01))
        ),
    ),
    "pairs": Table(
        title="Pairs of the official code against pure sentence order",
        figure="",
        rows=(
            Row(name="sentence order alone", data={"official_sop": False}),
            Row(name="the official pairs", data={"official_sop": True}),
        ),
    ),
    "recipes": Table(
        title="Recipes, each with one thing more",
        figure="",
        judged_by_tasks=True,
        rows=tuple(
            Row(
                name=name,
                block=block,
                tiny=_RECIPE | changes,
                flags=flags,
                data={"sentence_objective": "none"},
            )
            for name, block, changes, flags in _RECIPES
        ),
    ),
    "start": Table(
        title="Shared layers from a model that shares nothing",
        figure="",
        rows=(
            Row(name="nothing shared, E=H", tiny=UNSHARED),
            *(
                Row(
                    name=name,
                    tiny={
                        **UNSHARED,
                        "parameter_sharing": "all",
                        "depth_adapter_rank": rank,
                    },
                    starts_from="nothing shared, E=H" if flags else None,
                    flags=flags,
                    steps=0.25,
                )
                for name, rank, flags in (
                    ("all shared, from scratch", 0, {}),
                    ("all shared, from its first layer", 0, {"init_layers": "first"}),
                    ("all shared, from the mean", 0, _FROM_THE_MEAN),
                    ("from the mean, adapters of rank 4", 4, _FROM_THE_MEAN),
                    ("from the mean, adapters of rank 16", 16, _FROM_THE_MEAN),
                )
            ),
        ),
    ),
    "xlnet": Table(
        title="XLNet: memory, spans, sharing (table 6)",
        conclusion="on RACE, 1.1 points less without memory, 0.7 without spans, 0.3 "
        "without reversed text",
        figure="RACE",
        objective="permutation_lm",
        evaluations=_XLNET_EVALUATIONS,
        rows=(
            Row(name="memory, spans", figure="66.66"),
            Row(name="no memory", tiny={"mem_len": 0}, figure="65.55"),
            Row(name="single tokens", flags={"max_gram": 1}, figure="65.95"),
            Row(
                name="no reversed text",
                tiny={"bi_data": False},
                data={"bi_data": False},
                figure="66.34",
            ),
            Row(
                name="shared layers, factorised table",
                tiny={"parameter_sharing": "all", "embedding_size": 64},
            ),
        ),
    ),
    "memory": Table(
        title="XLNet: memory, where a sequence is short",
        figure="",
        objective="permutation_lm",
        max_seq_length=32,
        max_predictions_per_seq=5,
        evaluations=_XLNET_EVALUATIONS,
        rows=tuple(
            Row(name=name, tiny={"reuse_len": 16, "mem_len": tokens})
            for name, tokens in (("memory of 96 tokens", 96), ("no memory", 0))
        ),
    ),
}
"""By the name of `--table`."""
