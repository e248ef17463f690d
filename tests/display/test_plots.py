"""Pictures: letters of any script."""

import pytest
from matplotlib import font_manager

from albert_tf.display import plots
from albert_tf.display.plots import write_plot

pytestmark = pytest.mark.pictures
_BRACKETS = "STIXSizeOneSym"  # a font of brackets, without letters


@pytest.fixture
def draw(tmp_path, monkeypatch):
    """Returns what stands for labels in a picture, of a system without own fonts."""
    own = plots.matplotlib.get_data_path()
    fonts = font_manager.fontManager.ttflist
    brought = [font for font in fonts if font.fname.startswith(own)]
    monkeypatch.setattr(font_manager.fontManager, "ttflist", brought)

    def write(labels, *families):
        drawn = []

        def draw_names(figure, names):
            drawn.append(figure)
            drawn.extend(names)

        with plots.matplotlib.rc_context({"font.family": families or ["sans-serif"]}):
            assert write_plot(tmp_path / "x.png", draw_names, (4, 3), labels)
        figure, *shown = drawn
        return shown, figure.get_supxlabel()

    return write


def test_any_font_that_matplotlib_is_set_to_draws_letters(draw, tmp_path):
    assert draw(["déjà", "Ελλάδα"]) == (["déjà", "Ελλάδα"], "")
    assert draw(["ab"], _BRACKETS, "sans-serif")[0] == ["ab"]
    assert draw(["two\nlines\tand a tab"])[0] == ["two lines and a tab"]
    assert not (tmp_path / "x_labels.tsv").exists()


def test_fifteen_runs_look_differently():
    styles = [plots.run_style(number) for number in range(16)]
    assert len({*styles}) == 15 and styles[15] == styles[0]
    first = plots.COLOURS["training"]
    dashes = ["solid", "dashed", "dotted"]
    assert styles[:15:5] == [(first, name) for name in dashes]
    assert plots.COLOURS["majority"] not in {colour for colour, _ in styles}


def test_without_matplotlib(tmp_path, monkeypatch, lines):
    monkeypatch.setattr(plots, "Figure", None)
    plots._say_how_to_get_them.cache_clear()
    assert plots.svg(pytest.fail, (4, 3)) is None
    assert write_plot(tmp_path / "x.png", pytest.fail, (4, 3), ["a"]) is False
    assert [line.partition(": ")[2] for line in lines] == [
        "pip install 'albert-tf[plots]'"
    ]


def test_numbers_stand_for_what_no_font_has(draw, tmp_path):
    explained = "x_labels.tsv explains the numbers"
    assert draw(["neutral", "正面", "负 面"]) == (["0", "1", "2"], explained)
    legend = (tmp_path / "x_labels.tsv").read_text(encoding="utf-8")
    assert legend == "0\tneutral\n1\t正面\n2\t负 面\n"
    assert draw(["a\x01"])[0] == ["0"]
