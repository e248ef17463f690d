"""The tables of the ALBERT paper: rows at two scales.

`base` is the configuration of the paper and its result there, the average of
SQuAD 1.1 and 2.0, MNLI, SST-2 and RACE unless the table says something else. `tiny`
changes the tiny configuration (`tiny.py`) in the same direction.

Source: Lan et al., arXiv 1909.11942, tables 3, 4, 5, 8, 11, 12 and 13.
"""

from benchmarks.paper.comparisons import COMPARISONS
from benchmarks.paper.comparisons import UNSHARED
from benchmarks.paper.rows import Row
from benchmarks.paper.rows import Table

_BASE = "albert/base_v2"
_LARGE = "albert/large_v2"
_XXLARGE = "albert/xxlarge_v2"


def _grid(sharings, sizes, reported):
    """Lists rows of each way of sharing with each `(paper, tiny)` embedding size."""
    pairs = ((sharing, size) for sharing in sharings for size in sizes)
    return tuple(
        Row(
            name=f"E={paper}, parameter_sharing={sharing}",
            base=_BASE,
            base_changes={"embedding_size": paper, "parameter_sharing": sharing},
            tiny={"embedding_size": tiny, "parameter_sharing": sharing},
            millions=millions,
            figure=figure,
        )
        for (sharing, (paper, tiny)), (millions, figure) in zip(
            pairs, reported, strict=True
        )
    )


def _width(hidden_size):
    return {
        "hidden_size": hidden_size,
        "num_attention_heads": hidden_size // 64,
        "intermediate_size": 4 * hidden_size,
    }


def _dropout(rate):
    return {"hidden_dropout_prob": rate, "attention_probs_dropout_prob": rate}


_BERT_LARGE = {
    "embedding_size": 1024,
    "parameter_sharing": "none",
    **_dropout(0.1),
}

TABLES = {
    "3": Table(
        title="Embedding size, with and without sharing (table 3)",
        conclusion="unshared layers gain a little from wider tables; with shared "
        "layers, 128 is best",
        rows=_grid(
            ("none", "all"),
            ((64, 16), (128, 32), (256, 64), (768, 128)),
            (
                *((87, "81.3"), (89, "81.7"), (93, "81.8"), (108, "82.3")),
                *((10, "79.0"), (12, "80.1"), (16, "79.6"), (31, "79.8")),
            ),
        ),
    ),
    "4": Table(
        title="What layers share (table 4)",
        conclusion="sharing all costs 1.5 to 2.5 points, most of it by sharing the "
        "feed-forward networks; sharing attention costs 0.7, or nothing at E=128",
        rows=(
            *_grid(
                ("all", "attention", "ffn", "none"),
                ((768, 128),),
                ((31, "79.8"), (83, "81.6"), (57, "79.5"), (108, "82.3")),
            ),
            *_grid(
                ("all", "attention", "ffn", "none"),
                ((128, 32),),
                ((12, "80.1"), (64, "81.7"), (38, "80.2"), (89, "81.6")),
            ),
        ),
    ),
    "5": Table(
        title="The sentence objective (table 5)",
        conclusion="next sentence prediction does not learn sentence order (52.0%), "
        "while sentence order also learns next sentence (78.9%)",
        rows=tuple(
            Row(
                name=f"sentence_objective={name}",
                base=_BASE,
                data={"sentence_objective": name},
                millions=12,
                figure=figure,
            )
            for name, figure in (("none", "79.0"), ("nsp", "79.2"), ("sop", "80.1"))
        ),
        all_held_out=True,
    ),
    "8": Table(
        title="Dropout (table 8)",
        conclusion="the largest model learns masked words better without dropout",
        rows=tuple(
            Row(
                name=f"dropout {rate:g}",
                base=_XXLARGE,
                base_changes=_dropout(rate),
                tiny=_dropout(rate),
                figure=figure,
            )
            for rate, figure in ((0.1, "90.4"), (0.0, "90.7"))
        ),
    ),
    "11": Table(
        title="Depth (table 11)",
        conclusion="deeper is better up to 24 layers, with diminishing returns, and "
        "48 are no better",
        rows=tuple(
            Row(
                name=f"L={paper}",
                base=_LARGE,
                base_changes={"num_hidden_layers": paper},
                tiny={"num_hidden_layers": tiny},
                millions=18,
                figure=figure,
            )
            for paper, tiny, figure in (
                (1, 1, "52.9"),
                (3, 2, "71.2"),
                (6, 3, "77.2"),
                (12, 4, "81.5"),
                (24, 6, "82.1"),
                (48, 8, "81.8"),
            )
        ),
    ),
    "12": Table(
        title="Width (table 12)",
        conclusion="wider is better up to 4096, and 6144 is worse",
        rows=tuple(
            Row(
                name=f"H={paper}",
                base=_LARGE,
                base_changes={"num_hidden_layers": 3, **_width(paper)},
                tiny=_width(tiny),
                millions=millions,
                figure=figure,
            )
            for paper, tiny, millions, figure in (
                (1024, 64, 18, "71.2"),
                (2048, 128, 60, "74.6"),
                (4096, 192, 225, "76.3"),
                (6144, 256, 499, "74.0"),
            )
        ),
    ),
    "13": Table(
        title="Equal compute (table 13: equal hours)",
        conclusion="for equal hours a wide ALBERT with shared layers is better than "
        "BERT-large by 1.5 points",
        equal_compute=True,
        rows=(
            Row(
                name="nothing shared, E=H",
                base=_LARGE,
                base_changes=_BERT_LARGE,
                tiny=UNSHARED,
                millions=334,
                figure="87.2",
            ),
            Row(
                name="all shared, wider",
                base=_XXLARGE,
                tiny=_width(256),
                millions=235,
                figure="88.7",
            ),
        ),
    ),
    "figure1": Table(
        title="Distances between the input and the output of each layer (figure 1)",
        conclusion="with shared layers the transitions are smoother, and do not "
        "converge to 0",
        draws_layers=True,
        figure="",
        rows=(
            Row(
                name="all shared",
                base=_LARGE,
                tiny={"num_hidden_layers": 6},
                millions=18,
            ),
            Row(
                name="nothing shared, E=H",
                base=_LARGE,
                base_changes=_BERT_LARGE,
                tiny={"num_hidden_layers": 6, **UNSHARED},
                millions=334,
            ),
        ),
    ),
    **COMPARISONS,
}
"""By the name of `--table`."""
