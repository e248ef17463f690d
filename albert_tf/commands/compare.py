"""Shows runs side by side: settings that differ, minutes, losses and scores.

  albert-tf compare out/small out/large --output_file=compare.html

A run is the --output_dir of a command that trains; it need not have ended. The table
goes to standard output, and with the curves of all runs to --output_file.
docs/monitoring.md says more.
"""

import dataclasses
import html

from albert_tf.cli.command_line import option
from albert_tf.cli.command_line import run_with_texts
from albert_tf.display import html_page
from albert_tf.display.plots import run_style
from albert_tf.errors import UserError

# Every run has its own, and the name of the run is one.
_PLACES = ("output_dir", "cached_dir", "track")
_LONGEST = 28  # characters of a value
_NOTHING = "-"
_SAMPLES = {"solid": "━", "dashed": "╍", "dotted": "┅"}


@dataclasses.dataclass(frozen=True)
class CompareOptions:
    """The flags of `albert-tf compare`; directories are positional arguments."""

    output_file: str | None = option(
        "HTML file for the table and the curves, which need matplotlib.", None
    )


def compare(options, directories):
    """Prints the table of the runs, and writes the page.

    Raises:
        UserError: there are no directories, or one holds no run.
    """
    # Imported here, so that --help does not wait for TensorFlow.
    from albert_tf.engine.reporting.curves import runs_picture
    from albert_tf.engine.reporting.recorded_run import read_run

    if not directories:
        raise UserError("Name the runs to compare, such as out/small out/large.")
    runs = [read_run(directory) for directory in directories]
    rows = [*_settings(runs), *_results(runs)]
    _print_table(["", *directories], rows)
    if options.output_file:
        header = ["", *(_heading(place, run) for place, run in enumerate(runs))]
        articles = [html_page.table(header, rows)]
        picture = runs_picture(runs)
        html_page.write_page(
            options.output_file,
            "Runs side by side",
            f"{len(runs)} runs; settings that are the same in all are left out.",
            [*articles, picture] if picture else articles,
        )


def _settings(runs):
    """Lists the rows of the settings that differ."""
    names = dict.fromkeys(name for run in runs for name in run.settings)
    for name in names:
        values = [str(run.settings.get(name, _NOTHING)) for run in runs]
        if len({*values}) > 1 and name not in _PLACES:
            yield [name, *(_cut(value) for value in values)]


def _results(runs):
    """Lists the rows of steps, minutes, losses and scores."""
    yield ["steps", *(_number(max(_steps(run), default=None), ",d") for run in runs)]
    yield ["minutes of training", *(_number(run.minutes, ",.1f") for run in runs)]
    yield from _last("training", [{"loss": r.training.get("loss", {})} for r in runs])
    yield from _last("held out", [run.held_out for run in runs])
    for name in dict.fromkeys(name for run in runs for name in run.scores):
        values = (run.scores.get(name, _NOTHING) for run in runs)
        yield [f"result: {name}", *(_rounded(value) for value in values)]


def _steps(run):
    curves = [*run.training.values(), *run.held_out.values()]
    return [step for curve in curves for step in curve]


def _last(kind, found):
    """Lists the rows of the last value of each curve; `found` are the runs' curves."""
    for name in dict.fromkeys(name for curves in found for name in curves):
        curves = [one.get(name) for one in found]
        values = [curve[max(curve)] if curve else None for curve in curves]
        yield [f"{kind}: {name}", *(_number(value, ".4g") for value in values)]


def _number(value, form):
    return _NOTHING if value is None else format(value, form)


def _rounded(text):
    try:
        return text if text.isdigit() else format(float(text), ".4g")
    except ValueError:
        return text


def _cut(text):
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _heading(number, run):
    colour, dashes = run_style(number)
    sample = f'<span style="color: {colour}">{_SAMPLES[dashes]}</span>'
    return f"{sample} {html.escape(run.name)}"


def _print_table(header, rows):
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    for title, *values in [header, *rows]:
        cells = (v.rjust(w) for v, w in zip(values, widths[1:], strict=True))
        print("  ".join([title.ljust(widths[0]), *cells]))


def main(argv=None):
    """Runs the command."""
    run_with_texts(CompareOptions, compare, argv)
