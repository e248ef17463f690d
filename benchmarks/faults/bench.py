"""Bench of the attacks: material, references, results."""

import collections
import contextlib
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
    """A folder with all that the attacks need, kept from one run to the next."""

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
        """Runs a program without faults, unless that was done; its `Reference`."""
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
            ended = [process.finish() for process in running]
        for each in ended:
            if each.code:
                raise UserError(f"{program.name} fails without faults: {each.said}")
        logging.info("%s ran without faults", program.name)
        seconds = ended[0].seconds
        return {"seconds": seconds, "working_seconds": seconds - began}

    @contextlib.contextmanager
    def started(self, program, folder, wrapped=()):
        """Gives the processes of a program, which end with the `with` block."""
        environments = [None]
        if program.workers > 1:
            environments = processes.worker_environments(program.workers)
        logs = self.directory / "logs"
        logs.mkdir(exist_ok=True)
        arguments = program.arguments(folder, self.reference_folder)
        with contextlib.ExitStack() as stack:
            started = []
            for number, environment in enumerate(environments):
                log = logs / f"{folder.parent.name}-{folder.name}-{number}.log"
                process = processes.Process(arguments, log, environment, wrapped)
                started.append(stack.enter_context(process))
            yield started

    def finish(self, program, folder, wrapped=()):
        """Runs a program to its end; the `Ended` of its first process."""
        with self.started(program, folder, wrapped) as running:
            return [process.finish() for process in running][0]
