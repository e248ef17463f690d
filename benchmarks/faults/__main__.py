"""Attacks commands, and compares their outcomes with outcomes without faults.

  python -m benchmarks.faults --output_dir=faults

Kills come at random moments; disks are full, read-only or gone; files are cut or have
a flipped byte; a second run starts into the folder of the first. The material is small
and made here. The command shows its progress, notes each case in
<output_dir>/results.jsonl, goes on where an earlier run has stopped, and prints a
table. It exits with status 1 where a promise was broken.
docs/reliability.md has its last figures.
"""

import concurrent.futures
import dataclasses
import functools
import sys
from itertools import product

from albert_tf.cli import command_line
from albert_tf.cli.command_line import option
from albert_tf.display.progress import Progress
from benchmarks.faults import damage
from benchmarks.faults import kills
from benchmarks.faults import places
from benchmarks.faults import programs
from benchmarks.faults import rivals
from benchmarks.faults.bench import Bench


@dataclasses.dataclass(frozen=True)
class FaultOptions:
    """The flags of the attacks."""

    output_dir: str = option("Folder for the runs and the results.")
    only: str = option(
        "Attacks to make, separated by commas.", "kill,place,rival,damage"
    )
    kills: int = option(
        "Number of kills of each command, and of each form of pretraining.",
        10,
        minimum=0,
    )
    programs: int = option(
        "Commands whose folders to attack, with their names in programs.py.",
        8,
        minimum=0,
    )
    damages: int = option("Number of files to cut or change.", 100, minimum=0)
    seed: int = option("Seed of the moments and places.", 0)
    jobs: int = option("Number of attacks at a time.", 2, minimum=1)


def attacks(options, bench):
    """Lists the attacks that the flags ask for: functions without arguments."""
    attacked = programs.EVERY[: options.programs]
    locking = programs.LOCKING[: options.programs]
    killed = programs.KILLED if options.kills else ()
    shares = damage.shared_out(options.damages).items()
    known = {
        "kill": [(kills.attack, program, options.kills) for program in killed],
        "place": [(places.attack, *o) for o in product(attacked, places.FAULTS)],
        "rival": [(rivals.attack, program) for program in locking],
        "damage": [(damage.attack, group, count) for group, count in shares],
    }
    return [
        functools.partial(attack, bench, *arguments)
        for name in options.only.split(",")
        for attack, *arguments in known[name]
    ]


def run(options):
    """Attacks as the flags say, and prints the table."""
    bench = Bench(options.output_dir, options.seed)
    todo = attacks(options, bench)
    with (
        concurrent.futures.ThreadPoolExecutor(options.jobs) as pool,
        Progress(len(todo), "attacks", "attacking") as progress,
    ):
        started = [pool.submit(attack) for attack in todo]
        for done, future in enumerate(concurrent.futures.as_completed(started), 1):
            future.result()
            progress.update(done, [f"{len(bench.results.cases)} cases"])
    print(bench.results.table())
    for case in bench.results.broken():
        print(f"{case['verdict']}: {case['part']} {case['name']}: {case['note']}")
    if bench.results.broken():
        sys.exit(1)


if __name__ == "__main__":
    command_line.run(FaultOptions, run)
