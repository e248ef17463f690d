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

    vocabulary, sizes = str(material / "vocab.model"), {"max_seq_length": 80}
    sizes |= {"doc_stride": 16, "rounds": 1}
    return features.Options(str(path), vocabulary, sys.executable, **sizes)


@pytest.mark.nightly
def test_a_peer_makes_windows_of_the_same_length(options, capsys):
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    features.benchmark(options)
    printed = capsys.readouterr().out
    for side in ("this project", "Hugging Face"):
        assert re.search(rf"^{side}: .* \d+ windows$", printed, re.M)
    ratios = r"^this project / Hugging Face: [\d.]+ in wall time, [\d.]+ in CPU time$"
    assert re.search(ratios, printed, re.M)
    assert re.search(r"^peak memory of making windows: \d+ MB$", printed, re.M)
