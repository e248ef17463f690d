"""Bench of the attacks: material, references, results."""

import collections
import dataclasses
import json
import pathlib
import random
import shutil
import threading

from absl import logging

from albert_tf.errors import UserError
from albert_tf.io.files import write_json
from benchmarks.faults import processes
from benchmarks.faults.material import write_material
from benchmarks.faults.results import Results


@dataclasses.dataclass(frozen=True)
class Reference:
    """Outcome of a program without faults."""

    folder: pathlib.Path
    seconds: float
    """Seconds that it takes."""
    working_seconds: float
    """Seconds that it takes from the first thing that it writes."""


class Bench:
    """A folder with all that the attacks need, kept from one run to the next.

    Args:
        directory: it is made if need be.
        seed: of everything random.
    """

    def __init__(self, directory, seed):
        self.directory = pathlib.Path(directory).resolve()
        self.reference_folder = self.directory / "reference"
        material = self.reference_folder / "material"
        if not material.exists():
            write_material(material)
        self.results = Results(self.directory)
        self._seed = seed
        self._locks = collections.defaultdict(threading.Lock)

    def rng(self, *names):
        """Returns a random generator that depends on the seed and these names alone."""
        return random.Random(f"{self._seed} {names}")

    def reference(self, program):
        """Runs a program without faults, unless that was done; its `Reference`.

        Raises:
            UserError: it fails.
        """
        for needed in program.needs:
            self.reference(needed)
        folder = self.reference_folder / program.name
        record = self.reference_folder / f"{program.name}.json"
        with self._locks[program.name]:
            if not record.exists():
                shutil.rmtree(folder, ignore_errors=True)
                write_json(record, self._run(program, folder))
        return Reference(folder, **json.loads(record.read_text()))

    def _run(self, program, folder):
        folder.mkdir(parents=True)
        with self.started(program, folder) as running:
            processes.wait_for_change(folder, running)
            began = running[0].seconds()
            ended = [process.wait() for process in running]
        for each in ended:
            if each.code:
                raise UserError(f"{program.name} fails without faults: {each.said}")
        logging.info("%s ran without faults", program.name)
        seconds = ended[0].seconds
        return {"seconds": seconds, "working_seconds": seconds - began}

    def started(self, program, folder, wrapped=()):
        """Starts a `program` that writes into `folder`; returns the `Started`."""
        return Started(self, program, folder, wrapped)

    def finish(self, program, folder, wrapped=()):
        """Runs a program to its end; the `Ended` of its first process."""
        with self.started(program, folder, wrapped) as running:
            return [process.wait() for process in running][0]


class Started:
    """The processes of a program, which are gone at the end of a `with` block."""

    def __init__(self, bench, program, folder, wrapped):
        environments = [None]
        if program.workers > 1:
            environments = processes.worker_environments(program.workers)
        logs = bench.directory / "logs"
        logs.mkdir(exist_ok=True)
        arguments = program.arguments(folder, bench.reference_folder)
        self._processes = [
            processes.Process(
                arguments,
                logs / f"{folder.parent.name}-{folder.name}-{number}.log",
                environment,
                wrapped,
            )
            for number, environment in enumerate(environments)
        ]

    def __enter__(self):
        return self._processes

    def __exit__(self, *_):
        for process in self._processes:
            process.__exit__()
