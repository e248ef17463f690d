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


def _write(folder, files):
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def _list_of_earlier_versions(folder):
    victim = folder.parent / "victim.txt"
    _write(folder, {".ready/.stale": f"../victim.txt\n{victim}", ".ready/a": "1"})


def _a_file_behind_a_link(folder):
    (folder / "link").symlink_to("../victim")
    _write(folder, {".ready/link/data.txt": "1"})
    _write(folder, {".ready/SHA256SUMS": f"{_SUM}link/data.txt\n"})


def _a_file_that_goes_behind_a_link(folder):
    (folder / "link").symlink_to("../victim")
    _write(folder, {"SHA256SUMS": f"{_SUM}link/data.txt\n", ".ready/SHA256SUMS": ""})


def _files_that_go_elsewhere(folder):
    names = ("../victim.txt", str(folder.parent / "victim.txt"), "./../victim.txt")
    _write(folder, {"SHA256SUMS": "".join(f"{_SUM}{name}\n" for name in names)})
    _write(folder, {".ready/SHA256SUMS": ""})


def _files_that_come_elsewhere(folder):
    _write(folder, {".ready/SHA256SUMS": f"{_SUM}../victim.txt\n"})


def _a_file_that_is_a_link(folder):
    _write(folder, {".ready/SHA256SUMS": f"{_SUM}a\n"})
    (folder / ".ready" / "a").symlink_to("../../victim.txt")


def _a_list_that_is_a_link(folder):
    _write(folder, {".ready/a": "1", "sums": f"{_SUM}a\n"})
    (folder / ".ready" / "SHA256SUMS").symlink_to("../sums")


def _a_file_of_no_list(folder):
    _write(folder, {".ready/a": "1", ".ready/SHA256SUMS": f"{_SUM}b\n"})


def _all_is_a_link(folder):
    _write(folder, {"there/a": "1", "there/SHA256SUMS": f"{_SUM}a\n"})
    (folder / ".ready").symlink_to("there")


def _all_is_a_link_to_a_victim(folder):
    (folder / ".ready").symlink_to("../victim")


def _nothing_leads_there(folder):
    (folder / ".ready").symlink_to("nowhere")


_FOLDERS = [
    _list_of_earlier_versions,
    _a_file_behind_a_link,
    _a_file_that_goes_behind_a_link,
    _files_that_go_elsewhere,
    _files_that_come_elsewhere,
    _a_file_that_is_a_link,
    _a_list_that_is_a_link,
    _a_file_of_no_list,
    _all_is_a_link,
    _all_is_a_link_to_a_victim,
    _nothing_leads_there,
]
_HARMLESS = {
    _list_of_earlier_versions,
    _files_that_come_elsewhere,
    _all_is_a_link_to_a_victim,
    _nothing_leads_there,
}


def _contents(folder):
    return {
        path: path.readlink() if path.is_symlink() else path.read_bytes()
        for path in folder.rglob("*")
        if path.is_symlink() or path.is_file()
    }


@pytest.mark.parametrize("make", _FOLDERS)
def test_a_reader_changes_nothing_and_says_what_it_found(make, stranger):
    make(stranger)
    before = _contents(stranger)
    for read in (
        require_whole,
        albert_tf.AlbertModel.from_pretrained,
        albert_tf.load_tokenizer,
    ):
        with pytest.raises(UserError, match=r"holds files of a saving that was interr"):
            read(stranger)
    assert _contents(stranger) == before


@pytest.mark.parametrize("make", _FOLDERS)
def test_a_writer_changes_nothing_outside(make, stranger):
    make(stranger)
    before = _contents(stranger)
    if make in _HARMLESS:
        with replacing(stranger) as new:
            _write_listed(new, {"b": "1"})
        assert (stranger / "b").read_text() == "1"
        assert not (stranger / "a").exists()
        require_whole(stranger)
        return
    for write in (writing, ChecksummedFolder, replacing):
        with (
            pytest.raises(UserError, match="was not left like this by a saving"),
            write(stranger),
        ):
            pass
    assert _contents(stranger) == before


def _write_listed(folder, files):
    with ChecksummedFolder(folder) as listed:
        for name, text in files.items():
            listed.write(name, text)


@pytest.mark.parametrize("name", [".new", ".lock", "a.tmp", "a"])
def test_links_at_the_names_of_a_writer_are_not_followed(name, stranger):
    (stranger / name).symlink_to("../victim" if name == ".new" else "../victim.txt")
    with writing(stranger), replacing(stranger) as new:
        _write_listed(new, {"a": "1"})
    assert (stranger / "a").read_text() == "1"
    assert not (stranger / "a").is_symlink()


def test_a_model_saved_into_a_strangers_folder(tiny_config, stranger):
    _a_file_behind_a_link(stranger)
    model = albert_tf.AlbertModel(tiny_config())
    with pytest.raises(UserError, match=r"\.ready/link/data\.txt would change other"):
        model.save_pretrained(stranger)


@pytest.mark.parametrize("name", [".ready/.stale", "model/.ready/a", ".new/a"])
def test_an_archive_of_an_interrupted_saving_is_refused(name, tmp_path, monkeypatch):
    monkeypatch.setenv("ALBERT_TF_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "model.tar"
    with tarfile.open(path, "w") as archive:
        member = tarfile.TarInfo(name)
        member.size = 1
        archive.addfile(member, io.BytesIO(b"1"))
    with pytest.raises(UserError, match="is of a saving that was interrupted; save"):
        local_directory(path)
    assert not list((tmp_path / "cache").rglob("*"))


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

    def look(seconds):
        may_go_on.set()

    monkeypatch.setattr(whole_folder, "_move", slowly)
    monkeypatch.setattr(whole_folder.time, "sleep", look)
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
