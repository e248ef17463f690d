"""Runs side by side."""

import re

import pytest

from albert_tf.commands.compare import main
from albert_tf.engine.checkpointing import Checkpointing
from albert_tf.engine.checkpointing import RunRecord
from albert_tf.engine.reporting.summaries import RunHistory
from albert_tf.engine.reporting.summaries import write_eval_results
from albert_tf.engine.resumption import IdentityEntry


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """Two runs that differ in their rates; the second has no results yet."""
    monkeypatch.chdir(tmp_path)
    for name, rate, loss in (("slow", 0.1, 3.0), ("fast", 0.25, 2.5)):
        history = RunHistory(name, 0)
        # Ten steps in 20 seconds, thirty in 120.
        for step, speed in ((10, 0.5), (40, 0.25)):
            values = {"loss": loss - step / 100, "steps_per_second": speed}
            history.write_scalars("train", step, values)
        history.add_evaluation(40, 140.0, {"accuracy": rate, "majority_accuracy": 0.5})
        settings = {"learning_rate": rate, "output_dir": name, "seed": 1, "<b>": rate}
        record = RunRecord([IdentityEntry(*item, "") for item in settings.items()])
        Checkpointing(f"{name}/checkpoints", 1, True, record, []).save(40)
    write_eval_results("slow/eval_results.txt", {"f1": 0.123456, "global_step": 40})
    return ["slow", "fast"]


def test_the_table_has_what_differs_and_what_came_out(runs, capsys):
    main(["compare", *runs])
    lines = capsys.readouterr().out.rstrip().splitlines()
    assert [re.split("  +", line) for line in lines] == [
        ["", "slow", "fast"],
        ["learning_rate", "0.1", "0.25"],
        ["<b>", "0.1", "0.25"],
        ["steps", "40", "40"],
        ["minutes of training", "2.3", "2.3"],
        ["training: loss", "2.6", "2.1"],
        ["held out: accuracy", "0.1", "0.25"],
        ["held out: majority_accuracy", "0.5", "0.5"],
        ["result: f1", "0.1235", "-"],
        ["result: global_step", "40", "-"],
    ]


@pytest.mark.pictures
def test_the_page_has_the_table_and_every_curve(runs, tmp_path):
    main(["compare", "--output_file=compare.html", *runs])
    page = (tmp_path / "compare.html").read_text(encoding="utf-8")
    assert "<td>learning_rate</td><td>0.1</td><td>0.25</td>" in page
    assert "&lt;b&gt;" in page and "<td><b>" not in page
    panels = re.findall(r">([\w ]+, (?:held out|training))</text>", page)
    assert panels == ["accuracy, held out", "loss, training"]
    # A curve has the colour of its run's heading.
    first, second = re.findall(r'<span style="color: (#\w+)">', page)
    assert first != second
    for colour in (first, second):
        assert page.count(f"stroke: {colour.lower()}") >= 2
