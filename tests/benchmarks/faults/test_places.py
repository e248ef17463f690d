"""Bad places and their verdicts: full disks, read-only and vanishing folders."""

import pytest

from benchmarks.faults import places
from benchmarks.faults import programs
from benchmarks.faults.bench import Bench
from benchmarks.faults.processes import Ended


@pytest.mark.parametrize(
    ("code", "said", "differing", "was_whole", "verdicts"),
    [
        (0, "", [], False, ("harmless", "equal")),
        (0, "", ["x"], False, ("silent", "differs")),
        (0, "", ["x"], True, ("too late", "differs")),
        (1, "error: {} is full.", ["x"], False, ("refused", "refused")),
        (1, "error: a folder is full.", ["x"], False, ("unnamed", "differs")),
        (1, "Traceback", ["x"], False, ("traceback", "differs")),
    ],
)
def test_what_a_bad_place_counts_as(
    code, said, differing, was_whole, verdicts, tmp_path
):
    ended = Ended(code, said.format(tmp_path), 1.0)
    again = places.judge_again(ended, differing, tmp_path, places.VANISHED)
    found = places.judge(ended, differing, tmp_path, was_whole)[0], again[0]
    assert found == verdicts
    expected = "equal" if verdicts[1] == "equal" else "differs"
    mended = places.judge_again(ended, differing, tmp_path, places.FULL)
    assert mended[0] == expected


@pytest.mark.nightly
@pytest.mark.parametrize("mounts", [True, False])
def test_bad_places(mounts, directory, monkeypatch):
    if mounts and not places.can_mount():
        pytest.skip("only root mounts disks")
    monkeypatch.setattr(places, "can_mount", lambda: mounts)
    monkeypatch.setattr(places, "ROOM", (0.4,))
    bench = Bench(directory, 0)
    for fault in (places.FULL, places.READ_ONLY)[: 2 if mounts else 1]:
        places.attack(bench, programs.VOCAB, fault)
    verdicts = [case["verdict"] for case in bench.results.cases]
    assert verdicts == ["refused", "equal"] * (len(verdicts) // 2)
    assert ("No space" if mounts else "too large") in bench.results.cases[0]["note"]
