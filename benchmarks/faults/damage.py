"""Cuts in files and flipped bytes, and the outcomes of reading them."""

import collections
import contextlib
import itertools
import json
import pathlib
import re
import shutil
import signal
import sys
import threading
import time

from albert_tf.errors import UserError
from benchmarks.faults import programs
from benchmarks.faults import reading
from benchmarks.faults.results import fresh
from benchmarks.measuring.turns import Player

_PART = "damage"
_LONGEST_SECONDS = 300
_POLL_SECONDS = 0.005
# Cases of each group in a hundred: groups differ in their kinds of files.
_SHARES = {
    "vocabulary": 4,
    "data set": 10,
    "unfinished data set": 8,
    "pretraining run": 18,
    "fine-tuning run": 14,
    "model directory": 14,
    "fine-tuned model": 8,
    "SavedModel": 14,
    "Hugging Face model": 6,
    "TF1 checkpoint": 4,
}


def shared_out(cases):
    """Shares out cases among the groups of files: a dict of counts."""
    rounds = range(max(_SHARES.values()))
    turns = [group for turn in rounds for group, n in _SHARES.items() if turn < n]
    return collections.Counter(itertools.islice(itertools.cycle(turns), cases))


def attack(bench, group, cases):
    """Damages files of a group, one at a time, as often as told."""
    if len(bench.results.of(_PART, group)) >= cases:
        return
    source = _source(bench, group)
    kinds = _kinds(source)
    folder = bench.directory / "damaged" / group
    with Reader(bench.reference_folder) as reader:
        expected = reader.read(group, _copy(source, folder))
        if "digest" not in expected:
            said = expected.get("error", "a crash")
            raise UserError(
                f"The undamaged {group} in {source} cannot be read ({said}); empty "
                f"{bench.directory} and run the command again."
            )
        for number in range(cases):
            kind = list(kinds)[number % len(kinds)]
            how = ("flipped", "cut")[number // len(kinds) % 2]
            rng = bench.rng(group, number)
            name = rng.choice(kinds[kind])
            case = f"{number}: {name}"
            if bench.results.of(_PART, group, case):
                continue
            place = damaged(_copy(source, folder) / name, how, rng)
            verdict, note = judge(reader.read(group, folder), expected, name)
            facts = {"how": how, "place": place}
            bench.results.add(_PART, group, case, verdict, note, **facts)


def judge(answer, expected, name):
    # Of TensorFlow's checkpoints, the prefix of several files is their name.
    stem = pathlib.Path(name).name.partition(".")[0]
    if "traceback" in answer:
        return "traceback", answer["traceback"][-2000:]
    if "hangs" in answer:
        return "hangs", ""
    if "error" in answer:
        verdict = "refused" if stem in answer["error"] else "unnamed"
        return verdict, answer["error"]
    if answer["digest"] == expected["digest"]:
        return "harmless", answer["warned"]
    verdict = "warned" if stem in answer["warned"] else "silent"
    return verdict, answer["warned"]


def damaged(path, how, rng):
    """Cuts a file or changes one byte of it; returns where."""
    data = bytearray(path.read_bytes())
    place = rng.randrange(max(1, len(data)))
    if how == "cut":
        del data[place:]
    elif data:
        data[place] ^= 1 << rng.randrange(8)
    path.write_bytes(data)
    return place


def _kinds(folder):
    """Lists the names of files by their kind: the name without its numbers."""
    kinds = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_file() and path.name != ".lock" and path.stat().st_size:
            kinds.setdefault(re.sub(r"[0-9a-f]{32}|\d+", "#", name), []).append(name)
    return kinds


def _copy(source, folder):
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(source, folder)
    return folder


def _source(bench, group):
    """Returns a folder with whole files of a group."""
    made = {
        "vocabulary": programs.VOCAB,
        "data set": programs.DATA,
        "model directory": programs.PRETRAIN,
        "fine-tuned model": programs.CLASSIFY,
        "SavedModel": programs.EXPORT,
        "Hugging Face model": programs.TO_HUGGING_FACE,
        "TF1 checkpoint": programs.TO_TF1,
    }
    if group in made:
        reference = bench.reference(made[group]).folder
        source = _copy(reference, bench.directory / "whole" / group)
        if group in ("model directory", "fine-tuned model"):
            for name in ("checkpoints", "train", "eval"):  # of the runs, below
                shutil.rmtree(source / name, ignore_errors=True)
        return source
    folder = bench.directory / "whole" / group
    for program in (programs.PRETRAIN, programs.CLASSIFY):
        bench.reference(program)  # The commands below need it.
    if group == "pretraining run":
        if not (folder / "model.weights.h5").exists():
            bench.finish(reading.short_pretraining(), fresh(folder))
        return folder
    program, until = {
        "unfinished data set": (programs.DATA, ".unfinished/*.json"),
        "fine-tuning run": (programs.CLASSIFY, "checkpoints/training-12.index"),
    }[group]
    if not any(folder.glob(until)):
        with bench.started(program, fresh(folder)) as (process,):
            while not any(folder.glob(until)) and process.poll() is None:
                time.sleep(_POLL_SECONDS)
            process.send_signal(signal.SIGKILL)
            process.finish()
            process.children_are_gone()
    return folder


class Reader(contextlib.ExitStack):
    """A process that reads folders; another takes its place where it ends or hangs."""

    def __init__(self, reference):
        super().__init__()
        command = [sys.executable, "-m", "benchmarks.faults.reading", str(reference)]
        self._command, self.player = command, None

    def read(self, group, folder):
        """Returns the result of `reading.read`; `{"hangs": …}` if it takes too long."""
        if self.player is None:
            self.player = self.enter_context(Player(self._command))
        process = self.player.process
        killer = threading.Timer(_LONGEST_SECONDS, process.kill)
        began = time.monotonic()
        killer.start()
        try:
            return self.player.turn(json.dumps({"group": group, "folder": str(folder)}))
        except UserError:
            self.player = None
            if time.monotonic() - began >= _LONGEST_SECONDS:
                return {"hangs": True}
            return {"traceback": f"exit status {process.returncode}"}
        finally:
            killer.cancel()
