"""Imports between the rooms run downwards, and never in a circle; names agree."""

import ast
import collections
import graphlib
import importlib
import importlib.util
import re

import pytest

import albert_tf

_BELOW_THE_COMMANDS = {
    *("config", "checkpoints", "costs", "engine", "exit_rule", "families", "hub", "io"),
    *("layers", "models", "objectives", "optimizers", "prompts", "tokenization"),
}
# Folders of several ideas, or of many small helpers, and the most names that they show.
_SHOW_MORE = {
    "albert_tf": 38,
    "albert_tf/checkpoints": 42,
    "albert_tf/display": 15,
    "albert_tf/engine": 30,
    "albert_tf/families": 35,
    "albert_tf/io": 95,
    "albert_tf/layers": 30,
    "albert_tf/models": 30,
    "albert_tf/objectives": 20,
    "albert_tf/tasks": 84,
    "albert_tf/token_files": 13,
    "albert_tf/tokenization": 52,
    "albert_tf/tokenization/in_graph": 22,
    "data_pipeline/records": 20,
    "data_pipeline/sequences": 20,
    "data_pipeline/text": 20,
}
# The flags and the run of each family's command stand above serving, which they call.
_COMMANDS = {"commands", "flags", "run"}


@pytest.fixture(scope="module")
def modules(pytestconfig):
    """`{module: (its path from the root, its text, its tree)}` of both packages."""
    root, found = pytestconfig.rootpath, {}
    for room in ("albert_tf", "data_pipeline"):
        for path in (root / room).rglob("*.py"):
            place, text = path.relative_to(root), path.read_text(encoding="utf-8")
            name = ".".join(place.with_suffix("").parts).removesuffix(".__init__")
            found[name] = place, text, ast.parse(text)
    return found


@pytest.fixture(scope="module")
def graph(modules):
    """`{module: the modules that it imports}` of the package.

    A string that names a class by its module counts as an import of it, but for the
    table of commands. The package itself is its public API, which names every room.
    """
    names, found = {n for n in modules if n.startswith("albert_tf.")}, {}
    for name in names:
        path, _, tree = modules[name]
        used = found.setdefault(name, set())
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                used |= {alias.name for alias in node.names}
            elif isinstance(node, ast.Constant) and path.stem != "commands":
                place = str(node.value).partition(":")[0]
                used |= {place, place.rpartition(".")[0]}
            elif isinstance(node, ast.ImportFrom):
                inner = {f"{node.module}.{alias.name}" for alias in node.names}
                used |= inner & names or {node.module}
        used &= names
    return found


def _room(name):
    """Returns the part of the package that a module belongs to."""
    room, *within = [*name.split("."), ""][1:]
    return "tasks.commands" if room == "tasks" and _COMMANDS & {*within} else room


def test_nothing_below_imports_the_command_line(graph):
    upwards = {
        (name, other)
        for name, imported in graph.items()
        for other in imported
        if _room(name) in _BELOW_THE_COMMANDS and _room(other) == "cli"
    }
    # The flags of a part are declared beside it.
    declared = {pair for pair in upwards if pair[0].endswith(".flags")}
    assert upwards == declared
    assert {other for _, other in declared} == {"albert_tf.cli.command_line"}


def test_no_two_rooms_and_no_two_modules_import_each_other(graph):
    rooms = collections.defaultdict(set)
    for name, imported in graph.items():
        rooms[_room(name)] |= set(map(_room, imported)) - {_room(name)}
    files = {name: imported - {name} for name, imported in graph.items()}
    assert len(rooms) > 15 and len(files) > 200
    for circles in (rooms, files):
        graphlib.TopologicalSorter(circles).prepare()  # raises for one


def test_paths_are_resolved_above_what_reads_them(graph):
    below = {*_BELOW_THE_COMMANDS, "inference", "pretraining"}
    asking = {
        name
        for name, imported in graph.items()
        if "albert_tf.hub.names" in imported and _room(name) in below
    }
    # `load_tokenizer` and the top of a run; `bundle` stands above these rooms.
    assert asking == {"albert_tf.tokenization.loading", "albert_tf.pretraining.run"}


def test_folders_show_few_names(modules):
    """A folder is one idea if others know at most about a dozen names of it."""
    shown = collections.defaultdict(set)
    for path, text, tree in modules.values():
        for node in ast.walk(tree):
            for alias in node.names if isinstance(node, ast.ImportFrom) else ():
                used, names = node.module, {alias.name}
                if f"{used}.{alias.name}" in modules:  # `from albert_tf.io import x`
                    used = f"{used}.{alias.name}"
                    names = set(re.findall(rf"\b{alias.name}\.(\w+)", text))
                if used in modules and modules[used][0].parent != path.parent:
                    shown[modules[used][0].parent.as_posix()] |= names
    assert len(shown) > 20
    for folder, names in shown.items():
        most = _SHOW_MORE.get(folder, 12)
        assert len(names) <= most, (folder, sorted(names))


def test_dataclasses_are_frozen(modules):
    """What a function receives stays as it is."""
    for name, (_, _, tree) in modules.items():
        for node in ast.walk(tree):
            for decorator in map(ast.unparse, getattr(node, "decorator_list", ())):
                if decorator.startswith("dataclasses.dataclass"):
                    assert "frozen=True" in decorator, f"{name}.{node.name}"


def test_programs_import_names_that_there_are(project):
    """All of them, though few benchmarks and tools have a test that runs them."""
    for path in [*project.glob("benchmarks/**/*.py"), *project.glob("tools/**/*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            module = getattr(node, "module", None) or ""
            if module.startswith(("albert_tf", "data_pipeline")):
                there = importlib.import_module(module)
                for alias in node.names:
                    name = f"{module}.{alias.name}"
                    is_there = hasattr(there, alias.name) or importlib.util.find_spec(
                        name
                    )
                    assert is_there, (path, name)


def test_the_stub_has_every_public_name_from_its_home(project):
    stub = ast.parse((project / "albert_tf" / "__init__.pyi").read_text())
    homes = {
        alias.asname: node.module
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert set(homes) == set(albert_tf.__all__)
    for name, home in homes.items():
        assert getattr(importlib.import_module(home), name) is getattr(albert_tf, name)


def test_pages_and_messages_name_extras_that_there_are(project):
    metadata = (project / "pyproject.toml").read_text(encoding="utf-8")
    extras = metadata.partition("[project.optional-dependencies]")[2]
    known = set(re.findall(r"^(\w+) = \[", extras.partition("\n[")[0], re.M))
    named = {"test"}  # whoever tests this project installs that with make
    folders = ("albert_tf", "data_pipeline", "benchmarks", "tools", "docs")
    paths = [path for folder in folders for path in (project / folder).rglob("*.*")]
    for path in [*paths, project / "README.md"]:
        if path.suffix in (".py", ".md"):
            text = path.read_text(encoding="utf-8")
            # Without quotes some shells take the brackets for a pattern.
            assert not re.search(r"install (-e )?(albert-tf|\.)\[", text), path
            named |= set(re.findall(r"(?:albert-tf|'\.)\[(\w+)\]", text))
    assert named == known
