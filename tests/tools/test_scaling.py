"""docs/scaling.md has the figures of tools.scaling."""

from tools import scaling


def test_the_page_is_up_to_date(project, monkeypatch, tmp_path):
    monkeypatch.chdir(project)
    page = (project / "docs" / "scaling.md").read_text()
    copy = tmp_path / "scaling.md"
    copy.write_text(page)
    scaling.write_page(scaling.ScalingOptions(document=str(copy)))
    assert copy.read_text() == page
