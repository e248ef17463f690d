"""Defaults of flags and of the Python interface; a default's unintended change is seen.

`python -m tests.test_defaults` writes the file anew; look at its difference.
"""

import dataclasses
import importlib
import inspect
import json
import pathlib
import re

import albert_tf
from albert_tf import errors

_ROOT = pathlib.Path(__file__).parent.parent
_GOLDEN = _ROOT / "tests" / "golden" / "defaults.json"
# Python calls these with values alone, too.
_TAKE_POSITIONS = {
    *("ConvertOptions", "EmbedOptions", "EvaluateOptions"),
    *("ExportOptions", "FillMaskOptions", "MinimalPairsOptions"),
}
_CALLED = (
    *(
        "inference.masked_words",
        "inference.minimal_pairs",
        "objectives.replaced_tokens",
    ),
    *("optimizers", "optimizers.adam", "optimizers.muon", "optimizers.schedules"),
    "tokenization.tokenizer",
)
_OF_MACHINES = {"num_threads", "workers"}


def _groups():
    """Finds the classes that declare flags: `("module.Class", its own fields)`."""
    texts = {
        ".".join(path.relative_to(_ROOT).with_suffix("").parts): path.read_text()
        for room in ("albert_tf", "data_pipeline")
        for path in sorted((_ROOT / room).rglob("*.py"))
    }
    assert all(
        "frozen=True" in made
        for text in texts.values()
        for made in re.findall(r"@dataclasses\.dataclass.*", text)
    )
    declaring = [
        n for n, t in texts.items() if re.search(r" (option|altered|c\w+)\(", t)
    ]
    for module in map(importlib.import_module, declaring):
        for name, value in vars(module).items():
            if dataclasses.is_dataclass(value) and value.__module__ == module.__name__:
                own = value.__dict__.get("__annotations__", {})
                fields = [f for f in dataclasses.fields(value) if f.name in own]
                if fields := [f for f in fields if "minimum" in f.metadata]:
                    yield f"{module.__name__}.{name}", fields


def _of_flag(field):
    """Lists a flag's default, its bounds, and whether a continued run may change it."""
    is_fixed = (
        field.default is not dataclasses.MISSING and field.name not in _OF_MACHINES
    )
    default = field.default if is_fixed else None
    told = field.metadata
    return [default, told["minimum"], told["maximum"], told["may_change"]]


def _functions():
    """Yields what Python calls: the package's names, those of some modules, methods."""
    modules = [importlib.import_module(f"albert_tf.{name}") for name in _CALLED]
    values = [getattr(albert_tf, name) for name in albert_tf.__all__]
    for value in (*values, *(v for module in modules for v in vars(module).values())):
        members = [
            getattr(value, name)
            for name in dir(value)
            if name[0] != "_" or name == "__call__"
        ]
        for function in (value, *members) if inspect.isclass(value) else (value,):
            own = str(getattr(function, "__module__", "")).partition(".")[0]
            if own == "albert_tf" and callable(function) and value != errors.UserError:
                yield function.__qualname__, inspect.signature(function)


def _found():
    python = {
        name: {
            parameter.name: parameter.default
            for parameter in signature.parameters.values()
            if isinstance(parameter.default, bool | int | float | str)
        }
        for name, signature in _functions()
    }
    return {
        **{name: {f.name: _of_flag(f) for f in fields} for name, fields in _groups()},
        **{name: defaults for name, defaults in python.items() if defaults},
    }


def test_defaults_are_what_they_were():
    assert _found() == json.loads(_GOLDEN.read_text())


def test_flags_have_no_order():
    ordered = {
        group.rpartition(".")[2]
        for group, fields in _groups()
        if not all(field.kw_only for field in fields)
    }
    assert ordered == _TAKE_POSITIONS


if __name__ == "__main__":
    text = json.dumps(_found(), indent=1)
    lists = re.sub(r"\[[^]]*\]", lambda found: " ".join(found[0].split()), text)
    _GOLDEN.write_text(lists + "\n")
