"""Breaks the code in one place at a time and sees whether the tests notice.

  python -m tools.mutate
  python -m tools.mutate --only=masking --jobs=2
  python -m tools.mutate --sample=60 --seed=1

Each entry of tools/mutations.json names a file, a function or a class in it, an
expression or a statement there, its replacement and the tests that should fail then.
Code is compared as Python reads it, so that no reformatting loses it. The command
prints the mutations that no test noticed or that no longer fit the code, and exits with
status 1 if there are any. It does not touch the checkout itself: the tests run in
copies of it.

--sample tries random mutations of the package instead, made by cosmic-ray, against the
tests of their module and, if these notice nothing, the quick half of the suite.
"""

import ast
import concurrent.futures
import dataclasses
import multiprocessing
import os
import pathlib
import shutil
import sys
import tempfile
import threading

from albert_tf.cli import command_line
from albert_tf.cli.command_line import option
from albert_tf.display.progress import Progress
from albert_tf.errors import UserError
from albert_tf.io.files import read_json_object

_ROOT = pathlib.Path(__file__).resolve().parent.parent
_COPIED = ("albert_tf", "benchmarks", "configs", "constraints", "data_pipeline")
_COPIED += ("docs", "notebooks", "tests", "tools")
_SECONDS = 900  # of a mutation's tests
_NO_TESTS = 5  # pytest's exit status
# Each begins as a copy of a process that has imported TensorFlow: 5 seconds less.
_PROCESSES = multiprocessing.get_context("forkserver")
_PROCESSES.set_forkserver_preload(["tensorflow", "tensorflow_text", "keras"])


@dataclasses.dataclass(frozen=True)
class MutateOptions:
    """The flags of `python -m tools.mutate`."""

    mutations: str = option(
        "JSON file that lists the mutations.", "tools/mutations.json"
    )
    only: str = option(
        "Run only those mutations whose file or name contains this text.", ""
    )
    jobs: int = option("Number of mutations to try at a time.", 2, minimum=1)
    sample: int = option(
        "Number of mutations to draw in place of those that are listed.", 0, minimum=0
    )
    seed: int = option("Decides which mutations --sample draws.", 0, minimum=0)


@dataclasses.dataclass(frozen=True)
class Mutation:
    """A replacement of a piece of code, and the tests that should fail with it."""

    name: str
    file: str
    scope: str  # a function or a class, `Outer.inner`; "" for the whole file
    code: str  # an expression or a statement that occurs once in the scope
    becomes: str
    tests: str  # arguments of pytest, separated by spaces

    @property
    def rounds(self):
        """Arguments of pytest; the next if these notice nothing."""
        return [self.tests.split()]

    def apply(self, text):
        """Returns the mutated `text` of the file; see `mutated`."""
        return mutated(text, self)


def mutate(options):
    """Tries the mutations, and exits with status 1 if one survives.

    Raises:
        UserError: the file of mutations is missing or invalid.
    """
    mutations, survived = _chosen(options), 0
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    with (
        _Copies(options.jobs) as copies,
        concurrent.futures.ThreadPoolExecutor(options.jobs) as pool,
        Progress(len(mutations), "mutations", "trying") as progress,
    ):
        futures = {pool.submit(_try, copies, m): m for m in mutations}
        for done, future in enumerate(concurrent.futures.as_completed(futures), 1):
            mutation, outcome = futures[future], future.result()
            progress.update(done)
            if outcome != "noticed":
                survived += 1
                place = f"{mutation.name} ({mutation.file}: {mutation.becomes})"
                print(f"{outcome}: {place}", flush=True)
    print(f"{len(mutations) - survived} of {len(mutations)} mutations noticed")
    if survived:
        sys.exit(1)


def _chosen(options):
    if options.sample:
        # An environment that only tries listed mutations lacks cosmic-ray.
        from tools.drawn_mutations import draw_mutations

        return draw_mutations(_ROOT, options.sample, options.seed, options.only)
    return [
        mutation
        for mutation in read_mutations(options.mutations)
        if options.only in mutation.name or options.only in mutation.file
    ]


def read_mutations(path):
    """Reads the `Mutation`s of a file.

    Raises:
        UserError: it is missing, or an entry lacks a key or has an unknown one.
    """
    entries = read_json_object(path)
    try:
        return [Mutation(name=name, **entry) for name, entry in entries.items()]
    except TypeError as error:
        raise UserError(
            f"{path} holds an entry that is no mutation: {error}."
        ) from error


def mutated(text, mutation):
    """Returns the mutated code, without comments.

    It is None if the code to replace does not occur exactly once.
    """
    tree = ast.parse(text)
    scopes = [tree]
    for name in filter(None, mutation.scope.split(".")):
        inside = [node for scope in scopes for node in ast.walk(scope)]
        scopes = [node for node in inside if getattr(node, "name", None) == name]
    old, new = _parsed(mutation.code), _parsed(mutation.becomes)
    if isinstance(old, ast.Expr) and isinstance(new, ast.Expr):
        old, new = old.value, new.value
    wanted = ast.dump(old)
    inside = {node for scope in scopes for node in ast.walk(scope)}
    alike = [node for node in inside if type(node) is type(old)]
    found = [node for node in alike if ast.dump(node) == wanted]
    if len(found) != 1:
        return None
    return ast.unparse(_Replacing(found[0], new).visit(tree))


def _parsed(code):
    (statement,) = ast.parse(code).body
    return statement


class _Replacing(ast.NodeTransformer):
    """Puts one node in the place of another."""

    def __init__(self, old, new):
        self._old, self._new = old, new

    def visit(self, node):
        return self._new if node is self._old else self.generic_visit(node)


class _Copies:
    """Copies of the checkout, each for one mutation at a time."""

    def __init__(self, count):
        self._count = count
        self._free, self._lock = [], threading.Lock()

    def __enter__(self):
        self._folder = tempfile.TemporaryDirectory(prefix="mutate-")
        shared = _ROOT.parent / "shared"
        if shared.exists():  # where tests look for it
            pathlib.Path(self._folder.name, "shared").symlink_to(shared)
        for i in range(self._count):
            copy = pathlib.Path(self._folder.name, str(i))
            for name in _COPIED:
                shutil.copytree(_ROOT / name, copy / name)
            for file in filter(pathlib.Path.is_file, _ROOT.iterdir()):
                shutil.copy(file, copy)
            self._free.append(copy)
        return self

    def __exit__(self, exc_type, exc_value, traceback):
        self._folder.cleanup()

    def take(self):
        with self._lock:
            return self._free.pop()

    def give_back(self, copy):
        with self._lock:
            self._free.append(copy)


def _try(copies, mutation):
    """Tries a mutation: "noticed", "survived" or the reason why it was not tried."""
    copy = copies.take()
    path = copy / mutation.file
    original = path.read_text(encoding="utf-8")
    try:
        text = mutation.apply(original)
        if text is None:
            return "its code is not there, or twice"
        path.write_text(text, encoding="utf-8")
        outcomes = (_outcome(copy, tests) for tests in mutation.rounds)
        return next((own for own in outcomes if own != "survived"), "survived")
    finally:
        path.write_text(original, encoding="utf-8")
        copies.give_back(copy)


def _outcome(copy, tests):
    process = _PROCESSES.Process(target=run_tests, args=(str(copy), tests))
    process.start()
    process.join(_SECONDS)
    if process.is_alive():
        process.kill()
        return f"no test failed in {_SECONDS} s"
    if process.exitcode == _NO_TESTS:
        return "no test ran"
    return "noticed" if process.exitcode else "survived"


def run_tests(copy, tests):
    """Exits with pytest's status for tests in a copy of the checkout."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    os.chdir(copy)
    os.environ.update(PYTHONPATH=copy, PYTHONDONTWRITEBYTECODE="1")
    sys.dont_write_bytecode = True
    sys.path.insert(0, copy)
    # The checkout's own modules came with this one.
    for name in [*sys.modules]:
        if name.partition(".")[0] in _COPIED:
            del sys.modules[name]
    import pytest

    # Otherwise a folder's tests would swallow those of its files, which come first.
    in_order = ("-x", "-p", "no:cacheprovider", "--keep-duplicates")
    sys.exit(pytest.main([*in_order, *tests]))


if __name__ == "__main__":
    command_line.run(MutateOptions, mutate)
