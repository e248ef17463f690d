"""Two runs that are started into one folder."""

import signal
import time

from benchmarks.faults import outcomes
from benchmarks.faults.results import fresh

_PART = "second run"
_LOCK = ".lock"
_LOCK_SECONDS = 120
_POLL_SECONDS = 0.01


def attack(bench, program):
    """Starts a program twice; the second must name the first, which must not notice.

    The first is halted where it has the folder, so that it is there in any case.
    """
    if bench.results.of(_PART, program.name, "outcome of the first"):
        return
    reference = bench.reference(program)  # and the program's input
    folder = fresh(bench.directory / "rivals" / program.name)
    with bench.started(program, folder) as (first,):
        deadline = time.monotonic() + _LOCK_SECONDS
        while not (folder / _LOCK).exists() and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS)
        first.send_signal(signal.SIGSTOP)
        second = bench.finish(program, folder)
        first.send_signal(signal.SIGCONT)
        ended = first.finish()
    note = second.sentence or second.said[-2000:]
    named = f"process {first.pid} " in note
    verdict = "refused" if named else "unnamed" if second.sentence else "traceback"
    bench.results.add(_PART, program.name, "second", verdict, note)
    names = outcomes.differing(folder, reference.folder)
    note = ", ".join(names) or (ended.said[-2000:] if ended.code else "")
    verdict = "differs" if names or ended.code else "equal"
    bench.results.add(_PART, program.name, "outcome of the first", verdict, note)
