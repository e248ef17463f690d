"""Rates and memory of making windows are printed, with a peer where there is one."""

import re
import sys

import pytest

from benchmarks.squad import features


@pytest.fixture
def options(material, squad):
    """Options for a file of two questions, with a vocabulary of 36 pieces."""
    text = "the cat sat on a mat. " * 20
    path = squad((text, [("1", "who sat?", []), ("2", "on what?", [])]))

    def make(**changes):
        values = {"max_seq_length": 80, "doc_stride": 16, "rounds": 2, **changes}
        vocabulary = str(material / "vocab.model")
        return features.Options(str(path), vocabulary, **values)

    return make


@pytest.mark.nightly
def test_own_rates_and_memory(options, capsys):
    counts = []
    for changes in ({}, {"doc_stride": 4, "rounds": 1}, {"max_seq_length": 100}):
        features.benchmark(options(**changes))
        rate, memory = capsys.readouterr().out.splitlines()
        pattern = r"this project: [\d,]+ questions/s of wall time, [\d,]+ of CPU time; "
        counts.append(int(re.fullmatch(pattern + r"(\d+) windows", rate)[1]))
        assert re.fullmatch(r"peak memory of making windows: \d+ MB", memory)
    assert counts[1] > counts[0] > counts[2] > 2


def test_a_peer_makes_windows_of_the_same_length(options, capsys):
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    features.benchmark(options(peer_python=sys.executable))
    printed = capsys.readouterr().out
    assert re.search(r"^Hugging Face: .* \d+ windows$", printed, re.M)
    ratios = r"^this project / Hugging Face: [\d.]+ in wall time, [\d.]+ in CPU time$"
    assert re.search(ratios, printed, re.M)
