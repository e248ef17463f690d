"""The attacks of benchmarks/faults notice the faults that they are for."""

import contextlib
import json
import random
import signal
import threading
import types

import h5py
import pytest
import tensorflow as tf

from albert_tf.errors import UserError
from benchmarks.faults import damage
from benchmarks.faults import kills
from benchmarks.faults import outcomes
from benchmarks.faults import programs
from benchmarks.faults.__main__ import FaultOptions
from benchmarks.faults.__main__ import attacks
from benchmarks.faults.__main__ import run
from benchmarks.faults.bench import Bench
from benchmarks.faults.damage import Reader
from benchmarks.faults.damage import damaged
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
        ({"programs": 1}, 3 + 1),  # three bad places, and a second run
        ({"programs": 8}, 8 * 3 + 4),
        ({"damages": 3}, 3),
        ({"damages": 100}, 10),
        ({"damages": 100, "programs": 8, "only": "damage"}, 10),
    ],
)
def test_the_flags_choose_the_attacks(counts, expected, tmp_path):
    asked = options(tmp_path, **counts)
    assert len(attacks(asked, Bench(tmp_path, 0))) == expected


def test_moments_follow_from_the_seed(tmp_path):
    numbers = [Bench(tmp_path, seed).rng("x").random() for seed in (1, 1, 2)]
    assert numbers[0] == numbers[1] != numbers[2]


class _Refusing:
    """A process that ends with one sentence, and the bench that starts it."""

    def __init__(self, directory):
        self.results = Results(directory)

    @contextlib.contextmanager
    def started(self, program, folder):
        yield [self]

    def send_signal(self, number):
        pass

    def finish(self):
        return Ended(1, "error: x already holds a data set.", 1.0)


def test_a_refusal_ends_a_chain_of_kills_and_nothing_else(tmp_path):
    bench, rng = _Refusing(tmp_path), random.Random(0)
    reference = types.SimpleNamespace(seconds=0.0)
    asked = (bench, programs.DATA, tmp_path, reference, "any time", rng)
    assert not kills._kill(*asked)
    assert [case["verdict"] for case in bench.results.broken()] == ["traceback"]
    bench.results.add("kill", "data", "outcome", "equal")
    bench.results.add("kill", "data", "kill", "killed", moment="any time")
    assert not kills._kill(*asked)
    assert len(bench.results.broken()) == 1


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


def test_equal_results_are_equal(two):
    assert outcomes.differing(*two) == []


def test_every_difference_is_seen(two):
    one, other = two
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


@pytest.mark.nightly
def test_what_cannot_be_read_undamaged_is_no_measure(directory):
    bench = Bench(directory, 0)
    (bench.reference(programs.VOCAB).folder / "words.model").write_text("")
    with pytest.raises(UserError, match="undamaged vocabulary .* be read .*words"):
        damage.attack(bench, "vocabulary", 1)


def test_damage(tmp_path):
    bench = Bench(tmp_path, 0)
    whole = bytes(range(200))
    path = tmp_path / "file"
    for number in range(20):
        path.write_bytes(whole)
        place = damaged(path, "flipped", bench.rng(number))
        data = path.read_bytes()
        bits = [(a ^ b).bit_count() for a, b in zip(data, whole, strict=True)]
        assert sum(bits) == bits[place] == 1
        path.write_bytes(whole)
        place = damaged(path, "cut", bench.rng(number))
        assert path.read_bytes() == whole[:place]


def test_a_reader_that_crashes_is_replaced(tmp_path):
    with Reader(tmp_path) as reader:
        answer = reader.read("vocabulary", tmp_path)
        assert "There is no file or folder " in answer["error"]
        process = reader.player.process
        process.send_signal(signal.SIGSTOP)
        threading.Timer(0.5, process.kill).start()  # while it reads
        assert reader.read("vocabulary", tmp_path) == {"traceback": "exit status -9"}
        assert "There is no file" in reader.read("vocabulary", tmp_path)["error"]


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
    asked = options(directory, kills=1, damages=1, jobs=2)
    run(asked)
    assert "| damage | vocabulary | 1 " in capsys.readouterr().out
    results = Results(directory)
    kills = results.of("kill", "data", "kill")
    assert [case["verdict"] for case in kills] == ["killed"]
    # One more where the first run ended before its kill.
    ends = results.of("kill", "data", "outcome")
    assert {case["verdict"] for case in ends} == {"equal"}
    cases = results.cases
    run(asked)  # goes on where it stopped: nothing is left to do
    assert Results(directory).cases == cases


@pytest.mark.nightly
def test_a_second_run_is_told_of_the_first(directory, capsys):
    run(options(directory, programs=1, only="rival"))
    assert "| second run | data | 1 refused, 1 equal |" in capsys.readouterr().out
