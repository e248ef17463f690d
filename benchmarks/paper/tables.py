"""The tables of the ALBERT paper, in small.

`figure` is the result in the paper, the average of SQuAD 1.1 and 2.0, MNLI, SST-2 and
RACE unless the table says something else. `tiny` changes the tiny configuration
(`tiny.py`) in the same direction as the row of that name.

Source: Lan et al., arXiv 1909.11942, tables 3, 4, 5, 8, 11, 12 and 13.
"""

from benchmarks.paper.comparisons import COMPARISONS
from benchmarks.paper.comparisons import UNSHARED
from benchmarks.paper.rows import Row
from benchmarks.paper.rows import Table


def _grid(sharings, sizes, reported):
    """Lists rows of each way of sharing with each `(paper, tiny)` embedding size."""
    pairs = ((sharing, size) for sharing in sharings for size in sizes)
    return tuple(
        Row(
            name=f"E={paper}, parameter_sharing={sharing}",
            tiny={"embedding_size": tiny, "parameter_sharing": sharing},
            figure=figure,
        )
        for (sharing, (paper, tiny)), figure in zip(pairs, reported, strict=True)
    )


def _width(hidden_size):
    return {
        "hidden_size": hidden_size,
        "num_attention_heads": hidden_size // 64,
        "intermediate_size": 4 * hidden_size,
    }


def _dropout(rate):
    return {"hidden_dropout_prob": rate, "attention_probs_dropout_prob": rate}


_SHARINGS = ("all", "attention", "ffn", "none")

TABLES = {
    "3": Table(
        title="Embedding size, with and without sharing (table 3)",
        conclusion="unshared layers gain a little from wider tables; with shared "
        "layers, 128 is best",
        rows=_grid(
            ("none", "all"),
            ((64, 16), (128, 32), (256, 64), (768, 128)),
            ("81.3", "81.7", "81.8", "82.3", "79.0", "80.1", "79.6", "79.8"),
        ),
    ),
    "4": Table(
        title="What layers share (table 4)",
        conclusion="sharing all costs 1.5 to 2.5 points, most of it by sharing the "
        "feed-forward networks; sharing attention costs 0.7, or nothing at E=128",
        rows=(
            *_grid(_SHARINGS, ((768, 128),), ("79.8", "81.6", "79.5", "82.3")),
            *_grid(_SHARINGS, ((128, 32),), ("80.1", "81.7", "80.2", "81.6")),
        ),
    ),
    "5": Table(
        title="The sentence objective (table 5)",
        conclusion="next sentence prediction does not learn sentence order (52.0%), "
        "while sentence order also learns next sentence (78.9%)",
        rows=tuple(
            Row(
                name=f"sentence_objective={name}",
                data={"sentence_objective": name},
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
            Row(name=f"dropout {rate:g}", tiny=_dropout(rate), figure=figure)
            for rate, figure in ((0.1, "90.4"), (0.0, "90.7"))
        ),
    ),
    "11": Table(
        title="Depth (table 11)",
        conclusion="deeper is better up to 24 layers, with diminishing returns, and "
        "48 are no better",
        rows=tuple(
            Row(name=f"L={paper}", tiny={"num_hidden_layers": tiny}, figure=figure)
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
            Row(name=f"H={paper}", tiny=_width(tiny), figure=figure)
            for paper, tiny, figure in (
                (1024, 64, "71.2"),
                (2048, 128, "74.6"),
                (4096, 192, "76.3"),
                (6144, 256, "74.0"),
            )
        ),
    ),
    "13": Table(
        title="Equal compute (table 13: equal hours)",
        conclusion="for equal hours a wide ALBERT with shared layers is better than "
        "BERT-large by 1.5 points",
        equal_compute=True,
        rows=(
            Row(name="nothing shared, E=H", tiny=UNSHARED, figure="87.2"),
            Row(name="all shared, wider", tiny=_width(256), figure="88.7"),
        ),
    ),
    "figure1": Table(
        title="Layers of which tools.inspect_layers shows the distances (figure 1)",
        conclusion="with shared layers the transitions are smoother, and do not "
        "converge to 0",
        figure="",
        rows=(
            Row(name="all shared", tiny={"num_hidden_layers": 6}),
            Row(name="nothing shared, E=H", tiny={"num_hidden_layers": 6, **UNSHARED}),
        ),
    ),
    **COMPARISONS,
}
"""By the name of `--table`."""
