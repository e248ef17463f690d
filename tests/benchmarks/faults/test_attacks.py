"""The attacks of benchmarks/faults run in small, and go on where they stopped."""

import pytest

from benchmarks.faults import programs
from benchmarks.faults.__main__ import FaultOptions
from benchmarks.faults.__main__ import run
from benchmarks.faults.bench import Bench
from benchmarks.faults.results import Results


@pytest.mark.nightly
def test_a_small_attack(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(programs, "KILLED", (programs.DATA,))
    with monkeypatch.context() as patch:  # the reference, in one process
        patch.setitem(programs.DATA.flags, "workers", 1)
        Bench(tmp_path, 0).reference(programs.DATA)
    counts = {"kills": 1, "damages": 1, "programs": 1, "jobs": 2}
    asked = FaultOptions(output_dir=str(tmp_path), only="kill,damage,rival", **counts)
    run(asked)
    printed = capsys.readouterr().out
    assert "| damage | vocabulary | 1 " in printed
    assert "| second run | data | 1 refused, 1 equal |" in printed
    results = Results(tmp_path)
    kills = results.of("kill", "data", "kill")
    assert [case["verdict"] for case in kills] == ["killed"]
    # One more where the first run ended before its kill.
    ends = results.of("kill", "data", "outcome")
    assert {case["verdict"] for case in ends} == {"equal"}
    run(asked)  # nothing is left to do
    assert Results(tmp_path).cases == results.cases
