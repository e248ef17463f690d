"""make demo: steps are kept, the table shows the measurements."""

import pathlib

import pytest

import run_demo
from albert_tf.errors import UserError
from tools.demo import table


def test_finished_steps_of_a_recipe_are_kept(tmp_path, capsys, monkeypatch):
    """Of two steps the second fails until the file `ready` is there."""
    log, ready, path = (tmp_path / name for name in ("log", "ready", "mine.json"))
    write = f"open({str(log)!r}, 'a').write('%s ')"
    fail = f"assert __import__('os').path.exists({str(ready)!r})"
    programs = {"one": write % "one", "two": f"{write % 'two'}; {fail}"}

    def demo_steps(output_dir, recipe):
        told = pathlib.Path(recipe).read_text()
        return [(name, ["-c", code, told]) for name, code in programs.items()]

    monkeypatch.setattr(run_demo, "demo_steps", demo_steps)
    monkeypatch.setattr(table, "demo_table", lambda *_: f"| {log.read_text()}|\n")
    monkeypatch.setattr(table, "draw_accuracy", lambda output_dir: None)
    path.write_text("a recipe")
    options = run_demo.DemoOptions(str(tmp_path / "out"), str(path))
    with pytest.raises(UserError, match="step 'two' ended with status 1"):
        run_demo.run_demo(options)
    ready.touch()
    for _ in range(2):
        run_demo.run_demo(options)
    assert log.read_text() == "one two two "
    assert capsys.readouterr().out.count("| one two two |") == 2
    path.write_text("another recipe")
    with pytest.raises(UserError, match="out holds what another recipe than .*mine"):
        run_demo.run_demo(options)
    assert log.read_text() == "one two two "
