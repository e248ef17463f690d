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
def test_a_command_that_did_its_work_is_not_run_again(directory, monkeypatch):
    bench = Bench(directory, 0)
    monkeypatch.setitem(places._FAULTS, places.READ_ONLY, _harmless)
    places.attack(bench, programs.VOCAB, places.READ_ONLY)
    found = [(case["verdict"], case["note"]) for case in bench.results.cases]
    assert found == [("harmless", ""), ("harmless", "nothing was left to do")]


def _harmless(bench, program, folder, _):
    return bench.finish(program, folder)


@pytest.mark.nightly
def test_a_folder_that_vanishes_late_vanishes_again_sooner(directory, monkeypatch):
    bench, moments = Bench(directory, 0), _Moments()
    monkeypatch.setattr(bench, "rng", lambda *seed: moments)
    monkeypatch.setattr(places, "wait_for_change", _wait_for_the_end)
    monkeypatch.setattr(places, "_ATTEMPTS", 2)
    places.attack(bench, programs.VOCAB, places.VANISHED)
    assert len(moments) == 2 and moments[1] < moments[0]
    verdicts = [case["verdict"] for case in bench.results.cases]
    assert verdicts == ["too late", "equal"]


class _Moments(list):
    """Random numbers that are 0; the latest that each could have been."""

    def uniform(self, _, latest):
        self.append(latest)
        return 0


def _wait_for_the_end(folder, running):
    for process in running:
        process.finish()


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
