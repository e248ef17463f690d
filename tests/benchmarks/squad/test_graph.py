"""Evaluation in NumPy and in a graph are timed and answer equally."""

import re

import pytest

from benchmarks.squad import graph


@pytest.mark.slow
def test_prints_both_sides_and_no_difference(material, squad, capsys):
    text = "the cat sat on a mat. " * 20
    path = squad((text, [("1", "who sat?", []), ("2", "on what?", [])]))
    options = graph.Options(str(path), str(material / "vocab.model"), rounds=1)
    graph.benchmark(options)
    ours, graphs, ratio = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"in_numpy: [\d.]+ s, peak [\d,]+ MB", ours)
    assert re.fullmatch(r"in_graph: [\d.]+ s, peak [\d,]+ MB", graphs)
    assert ratio.endswith("; 0 of 2 answers differ.")
