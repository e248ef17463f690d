"""The table of a comparison's runs, as Markdown."""

import math
import statistics

from albert_tf.io.files import write_atomically
from benchmarks.measuring import figures
from benchmarks.paper import tasks

_LOSSES = ("masked_lm_loss", "permutation_lm_loss")
_METRICS = (
    *_LOSSES,
    "masked_lm_accuracy",
    "sentence_order_accuracy",
    *tasks.names(),
)


def write(table, found, base_line, bits_a_byte, folder, details):
    """Writes results.md; returns its text."""
    columns = _columns(found)
    heads = [metric + f" ({data})" * bool(data) for data, metric in columns]
    if table.figure:
        heads.append(f"paper: {table.figure}")
    rows = []
    for row in table.rows:
        cells = [_cell(_values(found[row.name], *column)) for column in columns]
        rows.append([row.name, *cells, *[row.figure] * bool(table.figure)])
    lines = [
        f"## {table.title}",
        "",
        details,
        "",
        *figures.markdown(["", *heads], rows),
        "",
        f"Each token by its frequency: loss {base_line:.3f}. A loss of 1 nat a token "
        f"is {bits_a_byte:.4f} bits a byte.",
        "",
    ]
    for head, column in zip(heads, columns, strict=False):
        least = least_difference(found, *column)
        if least is not None:
            lines.append(f"Differences in {head} count from {least:.4f}.")
    text = "\n".join(lines) + "\n"
    write_atomically(folder / "results.md", text)
    return text


def least_difference(found, data, metric):
    """Returns the least difference of two rows' means that counts: 2 standard errors.

    A seed draws the same masks of held-out text in each row. An effect on all rows is
    no difference between them and is left out: the variance is of the residuals of a
    model in which rows and seeds add up. Returns None with one seed or one row.
    """
    rows = [_values(runs, data, metric) for runs in found.values()]
    rows = [values for values in rows if values]
    if not rows:
        return None
    seeds = len(rows[0])
    if seeds == 1 or len(rows) == 1:
        return None
    centred = [[x - statistics.mean(values) for x in values] for values in rows]
    of_seeds = [statistics.mean(seed) for seed in zip(*centred, strict=True)]
    squares = sum(
        (x - seed) ** 2
        for values in centred
        for x, seed in zip(values, of_seeds, strict=True)
    )
    variance = squares / ((len(rows) - 1) * (seeds - 1))
    return 2 * math.sqrt(2 * variance / seeds)


def _columns(found):
    """Lists the measured `(evaluation, metric)`, the losses first."""
    runs = [run for runs in found.values() for run in runs]
    evaluations = list(dict.fromkeys(data for run in runs for data in run))
    return [
        (data, metric)
        for metric in _METRICS
        for data in evaluations
        if any(metric in run[data] for run in runs)
    ]


def _values(runs, data, metric):
    return [run[data][metric] for run in runs if metric in run[data]]


def _cell(values):
    if not values:
        return "—"
    mean = f"{statistics.mean(values):.4f}"
    return mean if len(values) == 1 else f"{mean} ± {statistics.stdev(values):.4f}"
