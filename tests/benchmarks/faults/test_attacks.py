"""The attacks of benchmarks/faults notice the faults that they are for."""

import dataclasses
import json

import h5py
import pytest
import tensorflow as tf

from benchmarks.faults import outcomes
from benchmarks.faults import programs
from benchmarks.faults.__main__ import FaultOptions
from benchmarks.faults.__main__ import attacks
from benchmarks.faults.__main__ import run
from benchmarks.faults.bench import Bench
from benchmarks.faults.damage import judge
from benchmarks.faults.kills import judge as judge_kill
from benchmarks.faults.processes import Ended
from benchmarks.faults.results import Results

_NONE = {
    "kills": 0,
    "programs": 0,
    "damages": 0,
}


def options(directory, **counts):
    return FaultOptions(output_dir=str(directory), **{**_NONE, **counts})


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ({}, 0),
        ({"kills": 2}, 9),
        ({"programs": 8}, 8 * 3 + 4),  # three bad places, and a second run
        ({"damages": 3}, 3),
        ({"damages": 100, "programs": 8, "only": "damage"}, 10),
    ],
)
def test_the_flags_choose_the_attacks(counts, expected, tmp_path):
    asked = options(tmp_path, **counts)
    assert len(attacks(asked, Bench(tmp_path, 0))) == expected


@pytest.fixture
def two(tmp_path):
    """Two folders with the same results, at other times."""
    for name, seconds in (("one", 3.0), ("two", 4.0)):
        folder = tmp_path / name
        (folder / "train").mkdir(parents=True)
        (folder / "train" / f"events.{name}").write_text(name)
        history = [{"step": 1, "train_seconds": seconds, "loss": 2.5}]
        (folder / "history.json").write_text(json.dumps(history))
        with h5py.File(folder / "model.weights.h5", "w") as file:
            file["layer/kernel"] = [1.0, 2.0]
        checkpoint = tf.train.Checkpoint(
            weight=tf.Variable([1.0]), train_seconds=tf.Variable(seconds)
        )
        checkpoint.write(str(folder / "training-1"))
    return tmp_path / "one", tmp_path / "two"


def test_every_difference_is_seen(two):
    one, other = two
    assert outcomes.differing(one, other) == []
    with h5py.File(other / "model.weights.h5", "r+") as file:
        file["layer/kernel"][0] = 1.0000001
    (other / "history.json").write_text('[{"step": 1, "loss": 2.25}]')
    tf.train.Checkpoint(weight=tf.Variable([2.0])).write(str(other / "training-1"))
    (one / "left-over").write_text("")
    names = ["history.json", "left-over", "model.weights.h5", "training-1.index"]
    assert outcomes.differing(one, other) == names


@pytest.mark.parametrize(
    ("code", "said", "sentence"),
    [
        (1, "a line\nerror: x is full.\n", "x is full."),
        (1, "Traceback (most recent call last):\nerror: x is full.\n", None),
        (-11, "error: x is full.\n", None),
        (1, "", None),
        (0, "error: x is full.\n", None),
    ],
)
def test_what_counts_as_a_sentence(code, said, sentence):
    assert Ended(code, said, 1.0).sentence == sentence


@pytest.mark.parametrize(
    ("gone", "code", "said", "verdict"),
    [
        (True, 1, "error: another worker is gone.", "killed"),
        (True, 0, "", "killed"),  # it had done its work
        (True, 1, "Traceback", "traceback"),
        (True, -9, "", "hangs"),
        (False, 1, "error: another worker is gone.", "orphans"),
    ],
)
def test_what_a_kill_counts_as(gone, code, said, verdict):
    assert judge_kill(gone, [Ended(code, said, 9.0)], 2.0)[0] == verdict
    assert judge_kill(True, [], 0.0) == ("killed", "")


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ({"digest": "a", "warned": ""}, "harmless"),
        ({"digest": "b", "warned": ""}, "silent"),
        ({"digest": "b", "warned": "d/head.json is damaged"}, "warned"),
        ({"error": "d/head.json is damaged"}, "refused"),
        ({"error": "a file is damaged"}, "unnamed"),
        ({"traceback": "Traceback"}, "traceback"),
        ({"hangs": True}, "hangs"),
    ],
)
def test_what_damage_counts_as(answer, verdict):
    expected = {"digest": "a", "warned": ""}
    assert judge(answer, expected, "head.json")[0] == verdict


def test_results_are_kept_and_counted(tmp_path):
    results = Results(tmp_path)
    results.add("kill", "data", "kill", "killed", moment="writing")
    results.add("kill", "data", "outcome", "equal")
    results.add("kill", "data", "outcome", "differs", "model.weights.h5")
    with (tmp_path / "results.jsonl").open("a") as file:
        file.write('{"part": "cut ')  # as a run that was killed leaves it
    again = Results(tmp_path)
    assert [case["verdict"] for case in again.of("kill", "data", "outcome")] == [
        "equal",
        "differs",
    ]
    assert again.of("kill", "data", "kill")[0]["moment"] == "writing"
    table = again.table()
    assert "| kill | data | 1 killed, 1 equal, 1 differs |" in table
    assert "* differs: another result" in table
    assert "* silent" not in table
    assert [case["note"] for case in again.broken()] == ["model.weights.h5"]


@pytest.mark.nightly
def test_a_small_attack(directory, capsys, monkeypatch):
    monkeypatch.setattr(programs, "KILLED", (programs.DATA,))
    asked = options(directory, kills=1, damages=1, programs=1, jobs=2)
    asked = dataclasses.replace(asked, only="kill,damage,rival")
    run(asked)
    printed = capsys.readouterr().out
    assert "| damage | vocabulary | 1 " in printed
    assert "| second run | data | 1 refused, 1 equal |" in printed
    results = Results(directory)
    kills = results.of("kill", "data", "kill")
    assert [case["verdict"] for case in kills] == ["killed"]
    # One more where the first run ended before its kill.
    ends = results.of("kill", "data", "outcome")
    assert {case["verdict"] for case in ends} == {"equal"}
    cases = results.cases
    run(asked)  # goes on where it stopped: nothing is left to do
    assert Results(directory).cases == cases
