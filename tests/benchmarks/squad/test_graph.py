"""Evaluation in NumPy and in a graph are timed and answer equally."""

import multiprocessing
import re
import types
from multiprocessing.pool import ThreadPool

import pytest
import tensorflow as tf

from benchmarks.squad import graph


@pytest.fixture
def in_this_process(monkeypatch):
    """Lets the sides take their turns here: TensorFlow is imported, and has threads."""
    here = types.SimpleNamespace(Pool=ThreadPool)
    monkeypatch.setattr(multiprocessing, "get_context", lambda method: here)
    for kind in ("inter", "intra"):
        name = f"set_{kind}_op_parallelism_threads"
        monkeypatch.setattr(tf.config.threading, name, int)


@pytest.mark.usefixtures("in_this_process")
def test_prints_both_sides_and_no_difference(material, squad, capsys):
    text = "the cat sat on a mat. " * 20
    path = squad((text, [("1", "who sat?", []), ("2", "on what?", [])]))
    options = graph.Options(str(path), str(material / "vocab.model"), rounds=1)
    graph.benchmark(options)
    ours, graphs, ratio = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"in_numpy: [\d.]+ s, peak [\d,]+ MB", ours)
    assert re.fullmatch(r"in_graph: [\d.]+ s, peak [\d,]+ MB", graphs)
    assert ratio.endswith("; 0 of 2 answers differ.")
