"""Files beside a stranger's folder, which nothing that it holds may reach."""

import pytest


@pytest.fixture
def stranger(tmp_path):
    """A stranger's folder; at the end of the test what lies around it is as it was."""
    outside = tmp_path / "outside"
    folder = outside / "folder"
    (outside / "victim").mkdir(parents=True)
    folder.mkdir()
    (outside / "victim.txt").write_text("precious")
    (outside / "victim" / "data.txt").write_text("precious")
    yield folder
    around = {path for path in outside.rglob("*") if folder not in path.parents}
    assert around == {folder, *map(outside.joinpath, ("victim", "victim.txt", DATA))}
    for name in ("victim.txt", DATA):
        assert (outside / name).read_text() == "precious"


DATA = "victim/data.txt"
