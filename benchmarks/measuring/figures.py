"""Figures of a benchmark, printed as a table and written as JSON for the pages."""

import datetime
import platform
import statistics

from albert_tf.cli.command_line import option
from albert_tf.io.files import write_json
from albert_tf.tokenization.parallel import available_cores

_CPU_INFO = "/proc/cpuinfo"
# Instructions that decide how fast products are, as Linux names them.
_INSTRUCTIONS = (
    "avx2",
    "avx512f",
    "avx512_vnni",
    "avx512_bf16",
    "amx_int8",
    "amx_bf16",
)


def file_option():
    """Returns the option that names the file for `report`."""
    return option(
        "JSON file to write the figures to, for the tables of docs/; by default none.",
        None,
    )


def peer_option():
    """Returns the option that names the interpreter of the other side."""
    return option(
        "Python interpreter with torch and transformers; without one, only our side "
        "runs.",
        None,
    )


def report(path, columns, rows, conditions):
    """Prints figures as a table, and writes them with the processor and the date.

    Args:
        path: a JSON file for `tools.figures`, or None to write nothing.
        columns: names of the columns, the first one included.
        rows: lists of as many cells: str, numbers, None or results of `compared`.
        conditions: further facts that decide on the figures: list of str, such as the
            versions of the packages and the number of rounds.
    """
    processor, instructions = processor_facts()
    machine = {"processor": processor, "cores": available_cores()}
    machine["instructions"] = instructions
    figures = {
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "machine": machine,
        "conditions": conditions,
        "columns": columns,
        "rows": rows,
    }
    print(table(figures), flush=True)
    if path is not None:
        write_json(path, figures)


def table(figures):
    """Formats the figures of a benchmark in Markdown, with a line of the conditions."""
    machine, date = figures["machine"], datetime.date.fromisoformat(figures["date"])
    facts = [
        f"{machine['processor']}, {machine['cores']} cores",
        f"{date.day} {date:%B %Y}",
        *figures["conditions"],
    ]
    rows = [map(_cell, row) for row in figures["rows"]]
    lines = markdown(figures["columns"], rows)
    return "\n".join([*lines, "", f"{'; '.join(facts)}."])


def markdown(columns, rows):
    """Returns the lines of a table of text in Markdown."""
    lines = (columns, ["---"] * len(columns), *rows)
    return [f"| {' | '.join(cells)} |" for cells in lines]


def _cell(cell):
    if cell is None:
        return ""
    if isinstance(cell, str):
        return cell
    if not isinstance(cell, dict):
        return _number(cell)
    text = _number(cell["value"])
    ratios = [cell[name] for name in ("ratio", "lowest", "highest") if name in cell]
    facts = []
    if len({*ratios}) > 1:  # neither without a peer nor of the side itself
        ratio, lowest, highest = ratios
        facts = [f"{ratio:.2f}; {lowest:.2f} to {highest:.2f}"]
    if "share" in cell:
        facts.append(f"{cell['share']:.0%}")
    return f"{text} ({'; '.join(facts)})" if facts else text


def _number(value):
    """Formats a number in three digits, or in all before the point of a larger one."""
    for least, digits in ((99.95, 0), (9.995, 1)):
        if abs(value) >= least:
            return f"{value:,.{digits}f}"
    return f"{value:.2f}"


def packages(details):
    """Lists each package in the sides' details: "torch 2.13.0, transformers 5.23.0"."""
    return [*dict.fromkeys(part for text in details for part in text.split(", "))]


def compared(seconds, own, amount, limit=None):
    """Returns a cell: a side's median rate, and this project's speed over it.

    Args:
        seconds: of the turns of the side.
        own: of this project's turns, in the same rounds.
        amount: units of work in a turn.
        limit: of the turns of the products alone, for the cell to say which share of
            the side's time they take.
    """
    cell = {"value": amount / statistics.median(seconds), **ratios(seconds, own)}
    if limit is not None:
        cell["share"] = statistics.median(limit) / statistics.median(seconds)
    return cell


def ratios(seconds, own):
    """Computes how many times as fast the side is whose turns took `own` seconds.

    Returns:
        A dict of `ratio` (of the medians), `lowest` and `highest` (in a round).
    """
    found = [theirs / ours for theirs, ours in zip(seconds, own, strict=True)]
    ratio = statistics.median(seconds) / statistics.median(own)
    return {"ratio": ratio, "lowest": min(found), "highest": max(found)}


def processor_facts():
    """Returns the processor's name, and its instructions for products."""
    try:
        with open(_CPU_INFO, encoding="utf-8") as file:
            lines = [line.partition(":") for line in file]
    except OSError:  # not Linux
        return platform.processor(), []
    facts = {name.strip(): value.strip() for name, _, value in lines}
    there = facts.get("flags", "").split()
    name = facts.get("model name", platform.processor())
    return name, [instruction for instruction in _INSTRUCTIONS if instruction in there]
