"""Comparisons beyond the ALBERT paper: RoBERTa's, XLNet's and this project's own.

Source: Liu et al., arXiv 1907.11692, tables 1 and 3; Yang et al., arXiv 1906.08237,
table 6.
"""

from benchmarks.paper.rows import Row
from benchmarks.paper.rows import Table

UNSHARED = {"embedding_size": 128, "parameter_sharing": "none"}
"""The tiny configuration as a BERT: nothing shared, E = H."""

_XLNET_EVALUATIONS = {"spans": {"max_gram": 5}, "single tokens": {"max_gram": 1}}

COMPARISONS = {
    "masking": Table(
        title="Static and dynamic masks (RoBERTa, table 1), and smoothed ones",
        conclusion="new masks in each epoch are as good as fixed ones or slightly "
        "better",
        rows=(
            Row(name="static masks", data={"masking": "static"}),
            Row(name="dynamic masks", data={"masking": "dynamic"}),
            Row(
                name="static masks, smoothed",
                data={"masking": "static", "mask_smoothing": 0.7},
            ),
            Row(
                name="dynamic masks, smoothed",
                data={"masking": "dynamic", "mask_smoothing": 0.7},
            ),
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
        conclusion="",
        figure="",
        rows=(
            Row(name="sentence order alone", data={"official_sop": False}),
            Row(name="the official pairs", data={"official_sop": True}),
        ),
    ),
    "start": Table(
        title="Shared layers from a model that shares nothing",
        conclusion="",
        figure="",
        rows=(
            Row(name="nothing shared, E=H", tiny=UNSHARED),
            *(
                Row(
                    name=name,
                    tiny={**UNSHARED, "parameter_sharing": "all"},
                    starts_from="nothing shared, E=H" if flags else None,
                    flags=flags,
                    steps=0.25,
                )
                for name, flags in (
                    ("all shared, from scratch", {}),
                    ("all shared, from its first layer", {"init_layers": "first"}),
                    ("all shared, from the mean", {"init_layers": "mean"}),
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
            Row(
                name="single tokens",
                flags={"max_gram": 1},
                figure="65.95",
            ),
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
        conclusion="",
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
