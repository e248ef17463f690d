"""Tables of figures in pages."""

from tools.figures import FiguresOptions
from tools.figures import update


def test_the_pages_show_the_figures(project, tmp_path):
    for path in project.glob("docs/*.md"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "figures").symlink_to(project / "docs" / "figures")
    update(FiguresOptions(docs=str(tmp_path)))
    for path in project.glob("docs/*.md"):
        assert (tmp_path / path.name).read_bytes() == path.read_bytes()
