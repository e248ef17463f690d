"""Kills at random moments, each followed by the same command once more."""

import shutil
import signal
import time

from benchmarks.faults import outcomes
from benchmarks.faults.processes import wait_for_change

_PART = "kill"
# A few files are begun in this time after the first.
_SOON_SECONDS = 0.3
_SURVIVOR_SECONDS = 60
"""Seconds in which a worker must end after the other was killed."""
# Choices of the moment, in turn: anywhere in the work of the command, soon after
# it begins to write, or anywhere in its life, which begins with seconds of imports.
_MOMENTS = ("at work", "writing", "at work", "any time", "writing")


def attack(bench, program, kills):
    """Kills a program `kills` times, and compares the outcome of each chain of kills.

    A run that ends before it is killed ends its chain, and so does one that refuses to
    run since the work is done: the outcome is compared with an undisturbed run's, and
    the next chain begins in an empty folder.
    """
    folder = bench.directory / "killed" / program.name
    reference = bench.reference(program)
    attempt = 0
    while len(done := bench.results.of(_PART, program.name, "kill")) < kills:
        folder.mkdir(parents=True, exist_ok=True)
        rng = bench.rng(program.name, len(done), attempt)
        attempt += 1
        moment = _MOMENTS[len(done) % len(_MOMENTS)]
        if not _kill(bench, program, folder, reference, moment, rng):
            _compare(bench, program, folder, reference)
    if _not_compared(bench, program):
        ended = bench.finish(program, folder)
        failed = ended.code and ended.sentence is None
        _compare(bench, program, folder, reference, ended.said if failed else "")


def _not_compared(bench, program):
    """Lists the kills since the last comparison."""
    cases = bench.results.of(_PART, program.name)
    compared = [i for i, case in enumerate(cases) if case["case"] == "outcome"]
    return cases[compared[-1] + 1 :] if compared else cases


def _kill(bench, program, folder, reference, moment, rng):
    """Kills once; returns False where the run has ended before, by itself."""
    with bench.started(program, folder) as running:
        if moment == "any time" and program.workers == 1:
            time.sleep(rng.uniform(0, reference.seconds))
        else:
            wait_for_change(folder, running)
            soon = moment == "writing"
            latest = _SOON_SECONDS if soon else reference.working_seconds
            time.sleep(rng.uniform(0, latest))
        victim, *others = rng.sample(running, len(running))
        victim.send_signal(signal.SIGKILL)
        ended = victim.finish()
        killed = time.monotonic()
        if ended.code >= 0:
            for other in others:
                other.finish()
            is_done = ended.sentence and _not_compared(bench, program)
            if ended.code and not is_done:
                _note(bench, program, moment, ended, "traceback", ended.said[-2000:])
            return False
        survivors = [other.finish(_SURVIVOR_SECONDS) for other in others]
        seconds = time.monotonic() - killed
        verdict, note = judge(victim.children_are_gone(), survivors, seconds)
    _note(bench, program, moment, ended, verdict, note)
    return True


def judge(children_are_gone, survivors, seconds):
    """Returns the verdict on a kill, and notes on it."""
    if not children_are_gone:
        return "orphans", ""
    for survivor in survivors:
        if survivor.code < 0:
            return "hangs", survivor.said[-2000:]
        if survivor.code and survivor.sentence is None:
            return "traceback", survivor.said[-2000:]
        return "killed", f"the other after {seconds:.1f} s: {survivor.sentence}"
    return "killed", ""


def _note(bench, program, moment, ended, verdict, note):
    when = {"moment": moment, "after": round(ended.seconds, 3)}
    bench.results.add(_PART, program.name, "kill", verdict, note, **when)


def _compare(bench, program, folder, reference, error=""):
    names = outcomes.differing(folder, reference.folder)
    kills = len(_not_compared(bench, program))
    verdict = "differs" if names or error else "equal"
    note = ", ".join(names) + error[-2000:]
    bench.results.add(_PART, program.name, "outcome", verdict, note, kills=kills)
    if names:
        kept = bench.directory / "differing" / f"{program.name} {kills}"
        shutil.rmtree(kept, ignore_errors=True)
        kept.parent.mkdir(exist_ok=True)
        shutil.move(folder, kept)
    shutil.rmtree(folder, ignore_errors=True)
