"""Imports between the rooms run downwards, and never in a circle."""

import ast
import collections
import graphlib
import re

import pytest

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


def _imports(path, modules):
    """Lists the modules, of those given, that a file imports anywhere in it.

    A string that names a class by its module counts as an import of it, but for the
    table of commands.
    """
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Constant) and path.stem != "commands":
            place = str(node.value).partition(":")[0]
            found |= {place, place.rpartition(".")[0]} - {"albert_tf"}
        elif isinstance(node, ast.ImportFrom):
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= names & modules or {node.module}
    return found & modules


@pytest.fixture(scope="module")
def graph(pytestconfig):
    """`{module: the modules that it imports}` of the package."""
    root = pytestconfig.rootpath
    paths = {
        ".".join(path.relative_to(root).with_suffix("").parts): path
        for path in (root / "albert_tf").rglob("*.py")
    }
    paths = {name.removesuffix(".__init__"): path for name, path in paths.items()}
    return {name: _imports(path, paths.keys()) for name, path in paths.items()}


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


def test_no_two_rooms_import_each_other(graph):
    rooms = {}
    for name, imported in graph.items():
        # The package itself is its public API, which names every room.
        others = {_room(other) for other in imported if other != "albert_tf"}
        if name != "albert_tf":
            rooms.setdefault(_room(name), set()).update(others - {_room(name)})
    assert len(rooms) > 15
    graphlib.TopologicalSorter(rooms).prepare()  # raises for a circle


def test_paths_are_resolved_above_what_reads_them(graph):
    asking = {
        name
        for name, imported in graph.items()
        if "albert_tf.hub.names" in imported
        and _room(name) in (*_BELOW_THE_COMMANDS, "inference", "pretraining")
    }
    # `load_tokenizer` and the top of a run; `bundle` stands above these rooms.
    assert asking == {
        "albert_tf.tokenization.loading",
        "albert_tf.pretraining.run",
    }


def test_no_modules_import_each_other(graph):
    files = {
        name: {other for other in imported if other != "albert_tf"} - {name}
        for name, imported in graph.items()
        if name != "albert_tf"
    }
    assert len(files) > 200
    graphlib.TopologicalSorter(files).prepare()  # raises for a circle


def _shown(root):
    """Collects, by folder, the names that files of other folders import from it."""
    rooms = (root / "albert_tf", root / "data_pipeline")
    files = {
        ".".join(path.relative_to(root).with_suffix("").parts): path
        for room in rooms
        for path in room.rglob("*.py")
    }
    paths = [*files.values()]
    files = {name.removesuffix(".__init__"): path for name, path in files.items()}
    shown = collections.defaultdict(set)
    for path in paths:
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)):
            for alias in node.names if isinstance(node, ast.ImportFrom) else ():
                module = f"{node.module}.{alias.name}"
                used, names = files.get(node.module), {alias.name}
                if module in files:  # `from albert_tf.io import storage`
                    used = files[module]
                    names = set(re.findall(rf"\b{alias.name}\.(\w+)", text))
                if used and used.parent != path.parent:
                    folder = used.parent.relative_to(root).as_posix()
                    shown[folder] |= names
    return shown


def test_folders_show_few_names(pytestconfig):
    """A folder is one idea if others know at most about a dozen names of it."""
    shown = _shown(pytestconfig.rootpath)
    assert len(shown) > 20
    for folder, names in shown.items():
        most = _SHOW_MORE.get(folder, 12)
        assert len(names) <= most, (folder, sorted(names))
