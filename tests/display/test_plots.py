"""Pictures: letters of any script, and colours that mean the same everywhere."""

import pytest
from fontTools import fontBuilder as font_builder
from fontTools.pens import ttGlyphPen as pens
from matplotlib import font_manager
from matplotlib import image

from albert_tf.display import plots
from albert_tf.display.plots import write_plot

pytestmark = pytest.mark.pictures


CHINESE = ["正面", "负 面"]


@pytest.fixture(autouse=True)
def fonts(tmp_path, monkeypatch):
    """A system without fonts; adds one with characters that are all solid squares."""
    monkeypatch.setattr(font_manager.fontManager, "ttflist", _own_fonts())

    def add(family, characters):
        path = tmp_path / f"{family}.ttf"
        _write_font(path, family, characters)
        font_manager.fontManager.addfont(path)

    return add


def _own_fonts():
    own = plots.matplotlib.get_data_path()
    fonts = font_manager.fontManager.ttflist
    return [font for font in fonts if font.fname.startswith(own)]


def _write_font(path, family, characters):
    glyphs = [".notdef", *(f"u{ord(c):x}" for c in characters)]
    pen = pens.TTGlyphPen(None)
    for place, point in enumerate([(0, 0), (0, 900), (900, 900), (900, 0)]):
        (pen.lineTo if place else pen.moveTo)(point)
    pen.closePath()
    square = pen.glyph()
    font = font_builder.FontBuilder(1000, isTTF=True)
    font.setupGlyphOrder(glyphs)
    font.setupCharacterMap(dict(zip(map(ord, characters), glyphs[1:], strict=True)))
    font.setupGlyf(dict.fromkeys(glyphs, square))
    font.setupHorizontalMetrics(dict.fromkeys(glyphs, (1000, 0)))
    font.setupHorizontalHeader(ascent=900, descent=-100)
    font.setupNameTable({"familyName": family, "styleName": "Regular"})
    font.setupOS2(usWeightClass=400)
    font.setupPost()
    font.save(path)


@pytest.fixture
def draw(tmp_path):
    """Writes labels in large letters; returns what stands for them and the ink."""

    def write(labels):
        shown = []

        def draw_names(figure, names):
            shown.extend(names)
            figure.text(0.0, 0.4, "".join(names), fontsize=100)

        path = tmp_path / "picture.png"
        assert write_plot(path, draw_names, labels=labels)
        return shown, float((image.imread(path)[..., :3] < 0.5).mean())

    return write


def test_a_font_that_matplotlib_is_set_to_draws_them(draw, fonts, tmp_path):
    fonts("Squares", "正面负")
    with plots.matplotlib.rc_context({"font.family": ["sans-serif", "Squares"]}):
        shown, ink = draw(CHINESE)
    assert shown == CHINESE
    assert ink > 0.15  # solid squares, no outlines of missing characters
    assert not (tmp_path / "picture_labels.tsv").exists()


def test_numbers_stand_for_what_no_font_has(draw, fonts, tmp_path):
    fonts("Half", "正")
    with plots.matplotlib.rc_context({"font.family": ["sans-serif", "Half"]}):
        assert draw(["neutral", *CHINESE])[0] == ["0", "1", "2"]
    legend = (tmp_path / "picture_labels.tsv").read_text(encoding="utf-8")
    assert legend == "0\tneutral\n1\t正面\n2\t负 面\n"
    figures = []
    write_plot(
        tmp_path / "x.png", lambda figure, _: figures.append(figure), (4, 3), "面"
    )
    assert figures[0].get_supxlabel() == "x_labels.tsv explains the numbers"


def test_signs_that_cannot_be_drawn_are_none_of_a_letter(draw):
    assert draw(["a\x01"])[0] == ["0"]
    assert draw(["two\nlines\tand a tab"])[0] == ["two lines and a tab"]
    assert draw(["déjà", "Ελλάδα"])[0] == ["déjà", "Ελλάδα"]
