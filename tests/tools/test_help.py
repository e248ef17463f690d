"""Every program of tools and benchmarks, asked for help, prints it and does no more."""

import ast
import pathlib
import runpy
import sys

import pytest

_ROOT = pathlib.Path(__file__).resolve().parents[2]
# A benchmark starts them, with its own arguments.
_STARTED = ("benchmarks/sides/", "benchmarks/faults/reading", "same_curve/hugging_face")
_PROGRAMS = sorted(
    str(path.relative_to(_ROOT))
    for folder in ("tools", "benchmarks")
    for path in (_ROOT / folder).rglob("*.py")
    if '__name__ == "__main__"' in path.read_text("utf-8")
    and not any(name in str(path) for name in _STARTED)
)


@pytest.mark.parametrize("program", _PROGRAMS)
def test_help_is_printed_and_nothing_else_done(program, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(sys, "argv", [program, "--help"])
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as end:
        runpy.run_path(str(_ROOT / program), run_name="__main__")
    assert end.value.code in (0, None)
    first, *_ = ast.get_docstring(ast.parse((_ROOT / program).read_text())).split("\n")
    assert first[:40] in capsys.readouterr().out  # argparse breaks the line elsewhere
    assert not list(tmp_path.iterdir())
