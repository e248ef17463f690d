"""Tables of figures in pages."""

import json

import pytest

from albert_tf.errors import UserError
from benchmarks.measuring import figures
from tools.figures import FiguresOptions
from tools.figures import update

PAGE = """# How fast

<!-- figures: steps -->
old
<!-- end of figures -->

after
"""
TABLE = """
| side | S = 8, tokens/s | s |
| --- | --- | --- |
| ours | 1,234 | 0.12 |
| theirs | 617 (2.00; 1.50 to 2.50) |  |

A processor, 2 cores; 3 November 2026; x 1.0, medians.

"""


def test_a_benchmarks_figures_are_written_into_their_page(tmp_path, monkeypatch):
    docs = tmp_path
    info = tmp_path / "cpuinfo"
    info.write_text("model name\t: A processor\nflags\t\t: sse avx512_bf16 avx2 bmi\n")
    monkeypatch.setattr(figures, "_CPU_INFO", str(info))
    monkeypatch.setattr(figures, "available_cores", lambda: 2)
    (tmp_path / "figures").mkdir()
    (tmp_path / "page.md").write_text(PAGE)
    path = tmp_path / "figures" / "steps.json"
    own, theirs = [1.0, 2.0, 4.0], [2.5, 4.0, 6.0]
    rows = [
        ["ours", figures.compared(own, own, amount=2468), 0.123],
        ["theirs", figures.compared(theirs, own, amount=2468), None],
    ]
    columns = ["side", "S = 8, tokens/s", "s"]
    figures.report(str(path), columns, rows, ["x 1.0, medians"])
    found = json.loads(path.read_text())
    assert found["machine"]["instructions"] == ["avx2", "avx512_bf16"]
    path.write_text(json.dumps({**found, "date": "2026-11-03"}))
    update(FiguresOptions(docs=str(docs)))
    page = (docs / "page.md").read_text()
    assert page == PAGE.replace("old\n", TABLE)
    (docs / "figures" / "steps.json").rename(docs / "figures" / "other.json")
    with pytest.raises(UserError, match="steps.json"):
        update(FiguresOptions(docs=str(docs)))
    (docs / "page.md").write_text("")
    with pytest.raises(UserError, match=r"No page of .* shows .*other.json"):
        update(FiguresOptions(docs=str(docs)))


def test_the_pages_show_the_figures(project, tmp_path):
    for path in project.glob("docs/*.md"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "figures").symlink_to(project / "docs" / "figures")
    update(FiguresOptions(docs=str(tmp_path)))
    for path in project.glob("docs/*.md"):
        assert (tmp_path / path.name).read_bytes() == path.read_bytes()
