"""A model's folder: its readers change nothing, its writers nothing outside of it."""

import concurrent.futures
import io
import os
import tarfile
import threading

import pytest

import albert_tf
from albert_tf.errors import UserError
from albert_tf.hub.names import local_directory
from albert_tf.io import checksums
from albert_tf.io import whole_folder
from albert_tf.io.whole_folder import ChecksummedFolder
from albert_tf.io.whole_folder import replacing
from albert_tf.io.whole_folder import require_whole
from albert_tf.io.whole_folder import writing

_SUM = f"{'0' * 64}  "
_ELSEWHERE = f"{_SUM}../victim.txt\n"
_OF_A, _OF_LINKED = f"{_SUM}a\n", f"{_SUM}link/data.txt\n"
_NEW, _VICTIM = ".ready/SHA256SUMS", {"link": "../victim"}
# By what a stranger's folder holds: its files and its links. HERE stands for the folder
# around it. A saving into the first ones harms nobody.
_HARMLESS = {
    "a list of earlier versions": (
        {".ready/.stale": "../victim.txt\nHERE/victim.txt", ".ready/a": "1"},
        {},
    ),
    "files that come elsewhere": ({_NEW: _ELSEWHERE}, {}),
    "all is a link to a victim": ({}, {".ready": "../victim"}),
    "nothing leads there": ({}, {".ready": "nowhere"}),
}
_HARMFUL = {
    "a file behind a link": ({".ready/link/data.txt": "1", _NEW: _OF_LINKED}, _VICTIM),
    "a file that goes behind a link": ({"SHA256SUMS": _OF_LINKED, _NEW: ""}, _VICTIM),
    "files that go elsewhere": (
        {"SHA256SUMS": f"{_ELSEWHERE}{_SUM}HERE/victim.txt\n", _NEW: ""},
        {},
    ),
    "a file that is a link": ({_NEW: _OF_A}, {".ready/a": "../../victim.txt"}),
    "a list that is a link": ({".ready/a": "1", "sums": _OF_A}, {_NEW: "../sums"}),
    "a file of no list": ({".ready/a": "1", _NEW: f"{_SUM}b\n"}, {}),
    "all is a link": ({"there/a": "1", "there/SHA256SUMS": _OF_A}, {".ready": "there"}),
}
_CASES = {**_HARMLESS, **_HARMFUL}


def _contents(folder):
    return {
        path: path.readlink() if path.is_symlink() else path.read_bytes()
        for path in folder.rglob("*")
        if path.is_symlink() or path.is_file()
    }


def _write_listed(folder, files):
    with ChecksummedFolder(folder) as listed:
        for name, text in files.items():
            listed.write(name, text)


@pytest.mark.parametrize("case", _CASES)
def test_nobody_changes_what_lies_outside(case, stranger):
    files, links = _CASES[case]
    for name, text in files.items():
        (stranger / name).parent.mkdir(parents=True, exist_ok=True)
        (stranger / name).write_text(text.replace("HERE", str(stranger.parent)))
    for name, target in links.items():
        (stranger / name).symlink_to(target)
    before = _contents(stranger)
    readers = require_whole, albert_tf.AlbertModel.from_pretrained
    for read in (*readers, albert_tf.load_tokenizer):
        with pytest.raises(UserError, match=r"holds files of a saving that was interr"):
            read(stranger)
    assert _contents(stranger) == before
    if case in _HARMLESS:
        with replacing(stranger) as new:
            _write_listed(new, {"b": "1"})
        assert (stranger / "b").read_text() == "1"
        assert not (stranger / "a").exists()
        require_whole(stranger)
        return
    for write in (writing, ChecksummedFolder, replacing):
        refused = pytest.raises(UserError, match="was not left like this by a saving")
        with refused, write(stranger):
            pass
    assert _contents(stranger) == before


@pytest.mark.parametrize("name", [".new", ".lock", "a.tmp", "a"])
def test_links_at_the_names_of_a_writer_are_not_followed(name, stranger):
    (stranger / name).symlink_to("../victim" if name == ".new" else "../victim.txt")
    with writing(stranger), replacing(stranger) as new:
        _write_listed(new, {"a": "1"})
    assert (stranger / "a").read_text() == "1"
    assert not (stranger / "a").is_symlink()


@pytest.mark.parametrize("name", [".ready/.stale", "model/.ready/a", ".new/a"])
def test_an_archive_of_an_interrupted_saving_is_refused(name, tmp_path, cache):
    path = tmp_path / "model.tar"
    with tarfile.open(path, "w") as archive:
        member = tarfile.TarInfo(name)
        member.size = 1
        archive.addfile(member, io.BytesIO(b"1"))
    with pytest.raises(UserError, match="is of a saving that was interrupted; save"):
        local_directory(path)
    assert not list(cache.rglob("*"))


def test_a_reader_waits_for_a_writer_at_work(tmp_path, monkeypatch):
    folder, move = tmp_path / "model", whole_folder._move
    began, may_go_on = threading.Event(), threading.Event()

    def slowly(*places):
        began.set()
        assert may_go_on.wait(60)
        move(*places)

    def write():
        with replacing(folder) as new:
            _write_listed(new, {"a": "1"})

    monkeypatch.setattr(whole_folder, "_move", slowly)
    monkeypatch.setattr(whole_folder.time, "sleep", lambda seconds: may_go_on.set())
    with concurrent.futures.ThreadPoolExecutor() as pool:
        writer = pool.submit(write)
        assert began.wait(60)
        require_whole(folder)
        assert (folder / "a").exists()
        writer.result()


@pytest.mark.slow
def test_two_writers_at_once_do_not_mix(tiny_config, tmp_path):
    sizes, folder = (37, 50), tmp_path / "model"
    models = [albert_tf.AlbertModel(tiny_config(vocab_size=size)) for size in sizes]

    def save(model):
        for _ in range(4):
            model.save_pretrained(folder)

    with concurrent.futures.ThreadPoolExecutor() as pool:
        list(pool.map(save, models))
    checksums.check_folder(folder)
    assert albert_tf.AlbertModel.from_pretrained(folder).config.vocab_size in sizes
    assert not [name for name in os.listdir(folder) if name.startswith(".")]
