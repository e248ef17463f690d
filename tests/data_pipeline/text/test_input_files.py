"""Names, globs and folders stand for files, each read once."""

import os

import pytest

from data_pipeline.text import corpus


@pytest.fixture
def text(tmp_path):
    """A folder with two texts, one of which has a link to it elsewhere."""
    folder = tmp_path / "text"
    folder.mkdir()
    for name in ("a.txt", "b.txt"):
        (folder / name).write_text(f"In {name}")
    (tmp_path / "link.txt").symlink_to(folder / "a.txt")
    return folder


def names(patterns):
    return [os.path.basename(file.path) for file in corpus.find_files(patterns)]


@pytest.mark.parametrize(
    "patterns",
    [
        "{0}/a.txt,{0}/*.txt",
        "{0}/a.txt,{0}",
        "{0}/a.txt,{0}/b.txt,{0}/./a.txt,{0}/../text//b.txt",
        "{0},{0}/../link.txt",
    ],
)
def test_overlapping_patterns_name_each_file_once(text, patterns):
    assert names(patterns.format(text)) == ["a.txt", "b.txt"]


def test_a_folder_stands_for_those_in_it_too(text):
    (text / "more" / "deep").mkdir(parents=True)
    (text / "more" / "c.txt").write_text("In c")
    (text / "more" / "deep" / "d.txt").write_text("In d")
    (text / "more" / "deep" / "up").symlink_to(text)  # a circle
    everything = ["a.txt", "b.txt", "c.txt", "d.txt"]
    for pattern in (f"{text}", f"{text}/*", f"{text}/"):
        assert names(pattern) == everything
    assert names(f"{text}/m*") == ["c.txt", "d.txt"] + ["a.txt", "b.txt"]


def test_hidden_files_are_left_out_unless_they_are_named(text, caplog):
    (text / ".git").mkdir()
    for name in (".DS_Store", ".git/x.txt"):
        (text / name).write_bytes(b"\0\0\0\1Bud1\xff")
    (text / ".notes.txt").write_text("In notes")
    with caplog.at_level("INFO", "absl"):
        assert names(f"{text}") == names(f"{text}/*") == ["a.txt", "b.txt"]
    assert f"hidden files that are not read: {text}/.DS_Store, " in caplog.text
    assert names(f"{text}/.notes.txt") == names(f"{text}/.n*") == [".notes.txt"]


def test_brackets_in_names_that_exist_are_no_pattern(tmp_path):
    folder = tmp_path / "old[1]"
    folder.mkdir()
    for path in (folder / "a.txt", tmp_path / "b[1].txt", tmp_path / "b1.txt"):
        path.write_text("text")
    assert names(f"{tmp_path}/b[1].txt") == ["b[1].txt"]
    assert names(f"{tmp_path}/b[0-9].txt") == ["b1.txt"]
    assert names(f"{folder}") == names(f"{folder}/*.txt") == ["a.txt"]
