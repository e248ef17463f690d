"""Random mutations of the package, made by cosmic-ray."""

import dataclasses
import difflib
import importlib.util
import random
import re

from cosmic_ray import plugins
from cosmic_ray.ast import ast_nodes
from cosmic_ray.ast import get_ast
from cosmic_ray.mutating import mutate_code

from tools.mutate import read_mutations

# cosmic-ray's other operators make code that no one writes by mistake, that fails when
# it is imported, or that these make, too.
_OPERATORS = re.compile(
    r"core/(AddNot|NumberReplacer|Replace(True|False|And|Or|Break|Continue)\w*"
    r"|ZeroIterationForLoop|ReplaceUnaryOperator_Delete\w*"
    r"|ReplaceComparisonOperator_(Lt_LtE|LtE_Lt|Gt_GtE|GtE_Gt|Eq_NotEq|Is_IsNot)"
    r"|ReplaceBinaryOperator_(Add_Sub|Sub_Add|Mul_Div|Div_Mul|FloorDiv_Div|Mod_Mul))"
)


# Nothing can show that an assertion is gone where the code is right, that AutoGraph
# reads code without loops, that arguments could be given without their names, too, that
# versions of a cache are counted from another number, that what only type checkers read
# is imported, or that a large number has become one larger: 1e30 + 1 is 1e30. "|" is
# where the mutation begins.
_WITHOUT_EFFECT = re.compile(
    r"((strict|autograph|kw_only)=|^_VERSION = )\||\|TYPE_CHECKING"
)
# Tests run the program that transformers reads only where PyTorch is.
_PYTORCH = importlib.util.find_spec("torch") is not None
_NUMBER = re.compile(r"\d[\d_.]*(e\d+)?(?!\w)")
_LARGE = 1000


@dataclasses.dataclass(frozen=True)
class DrawnMutation:
    """A mutation given by the whole new text of its file."""

    file: str
    becomes: str  # the lines that differ
    tests: str
    text: str

    @property
    def name(self):
        """The file."""
        return self.file

    @property
    def rounds(self):
        """Its tests, then the suite's quick half: what uses the module may notice."""
        return [self.tests.split(), ["-m", "not slow and not nightly", "tests"]]

    def apply(self, text):
        """Returns the mutated text of the file."""
        return self.text


def draw_mutations(root, count, seed, only=""):
    """Draws `DrawnMutation`s of the package, uniformly over places in its code.

    Args:
        root: the checkout, a `pathlib.Path`.
        count: number of mutations.
        seed: decides which.
        only: text in the names of the files to draw from.
    """
    operators = [
        plugins.get_operator(name)()
        for name in sorted(plugins.operator_names())
        if _OPERATORS.fullmatch(name)
    ]
    places = [
        (path, operator, place)
        for room in ("albert_tf", "data_pipeline")
        for path in sorted((root / room).rglob("*.py"))
        if only in str(path) and (_PYTORCH or path.parent.name != "remote_code")
        for operator, place in _places(path, operators)
    ]
    chosen = random.Random(seed).sample(places, min(count, len(places)))
    return [_drawn(root, *place) for place in chosen]


def _places(path, operators):
    """Yields each operator with the number of each place where it applies in a file."""
    text = path.read_text(encoding="utf-8")
    lines, nodes = text.splitlines(), [*ast_nodes(get_ast(text))]
    for operator in operators:
        begins = [b for node in nodes for b, _ in operator.mutation_positions(node)]
        for place, (line, column) in enumerate(begins):
            before, code = lines[line - 1][:column], lines[line - 1][column:]
            number = _NUMBER.match(code)
            is_large = number and float(number[0]) > _LARGE
            if not (_WITHOUT_EFFECT.search(f"{before}|{code}") or is_large):
                yield operator, place


def _drawn(root, path, operator, place):
    text = path.read_text(encoding="utf-8")
    changed = mutate_code(text, operator, place)
    lines = difflib.ndiff(text.splitlines(), changed.splitlines())
    shown = " ".join(line.strip() for line in lines if line[0] in "-+")
    file = path.relative_to(root)
    return DrawnMutation(str(file), shown, _tests_of(root, file), changed)


def _tests_of(root, file):
    """Lists the tests of a module, the nearest first.

    They are its own, those named after its folder, those that import it, those of its
    listed mutations, those of every module, and its rooms'.
    """
    module = file.parent if file.stem == "__init__" else file.with_suffix("")
    parts = module.parts[module.parts[0] == "albert_tf" :] or module.parts
    tests = root / "tests"
    importing = re.compile(rf"{re.escape('.'.join(module.parts))}\b")
    listed = read_mutations(root / "tools" / "mutations.json")
    found = [
        tests.joinpath(*parts[:-1], f"test_{parts[-1]}.py"),
        *sorted(tests.rglob(f"test_{file.parent.name}*.py")),
        *(
            path
            for path in sorted(tests.rglob("test_*.py"))
            if importing.search(path.read_text(encoding="utf-8"))
        ),
        *(
            root / test.partition("::")[0]
            for mutation in listed
            if mutation.file == str(file)
            for test in mutation.tests.split()
        ),
        tests / "test_defaults.py",
        tests / "test_architecture.py::test_dataclasses_are_frozen",
        *(tests.joinpath(*parts[:n]) for n in range(len(parts) - 1, 0, -1)),
    ]
    names = (str(path.relative_to(root)) for path in found)
    there = (name for name in names if (root / name.partition("::")[0]).exists())
    return " ".join(dict.fromkeys(there))
