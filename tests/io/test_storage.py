"""Files and folders on a disk, and in a bucket: TensorFlow's one in memory."""

import dataclasses

import pytest
import tensorflow as tf

from albert_tf.cli.command_line import run
from albert_tf.io import storage
from albert_tf.io.files import write_atomically
from data_pipeline.text import input_files


@dataclasses.dataclass(frozen=True)
class NoFlags:
    """The flags of a command that has none."""


@pytest.fixture(params=["disk", "bucket"])
def folder(request, tmp_path):
    return str(tmp_path) if request.param == "disk" else f"ram://{tmp_path.name}"


def test_files_are_written_whole_and_read(folder):
    path = f"{folder}/a/b.txt"
    assert not storage.exists(path)
    for contents in ("old", "new"):
        write_atomically(path, contents)
        assert storage.read_bytes(path) == contents.encode()
    with pytest.raises(TypeError):
        write_atomically(path, 3)
    with storage.read_locally(path) as local, open(local, encoding="utf-8") as file:
        assert file.read() == "new"
    assert storage.exists(path) and not storage.is_folder(path)
    assert storage.is_folder(f"{folder}/a")
    assert storage.names_in(f"{folder}/a") == ["b.txt"]


def test_a_folder_takes_the_place_of_another(folder):
    for name in ("best-1/a", "best-1/old", "best-2.tmp/a"):
        write_atomically(f"{folder}/{name}", name)
    storage.replace_folder(f"{folder}/best-2.tmp", f"{folder}/best-1")
    assert storage.matching(folder, "best-*") == [f"{folder}/best-1"]
    assert storage.names_in(f"{folder}/best-1") == ["a"]
    assert storage.read_bytes(f"{folder}/best-1/a") == b"best-2.tmp/a"
    for _ in range(2):
        storage.remove_folder(f"{folder}/best-1")
        assert not storage.exists(f"{folder}/best-1")


def test_brackets_in_the_name_of_a_folder_are_no_pattern(folder):
    for name in ("a[1]/best-1", "a1/best-2", "a[1]/last"):
        write_atomically(f"{folder}/{name}", name)
    assert storage.matching(f"{folder}/a[1]", "best-*") == [f"{folder}/a[1]/best-1"]
    assert storage.matching(f"{folder}/missing", "*") == []


_BODY = """Error executing an HTTP request: HTTP response code 401 with body '{
  "error": {
    "code": 401,
    "message": "Anonymous caller does not have storage.objects.get access.",
    "errors": [{"reason": "required"}]
  }
}'"""


@pytest.mark.parametrize(
    "message,path,said",
    [
        (
            f"{_BODY}\n\t when reading metadata of gs://b/x.json",
            None,
            "Error executing an HTTP request: HTTP response code 401 (Anonymous caller "
            "does not have storage.objects.get access.), when reading metadata of "
            "gs://b/x.json.",
        ),
        ("gs://b/x does not exist", "gs://b/x", "gs://b/x does not exist."),
        ("Out of quota\nmore", "gs://b/x.json", "gs://b/x.json: Out of quota."),
    ],
)
def test_errors_of_buckets_name_the_path(message, path, said, capsys):
    def fail(options):
        with storage.os_errors(path):
            raise tf.errors.FailedPreconditionError(None, None, message)

    with pytest.raises(SystemExit):
        run(NoFlags, fail, argv=["x"])
    assert capsys.readouterr().err == f"error: {said}\n"


def test_every_question_about_a_bucket_names_it(monkeypatch):
    def fail(*_, **__):
        raise tf.errors.PermissionDeniedError(None, None, "No")

    for name in ("exists", "isdir", "makedirs", "listdir", "remove", "glob", "copy"):
        monkeypatch.setattr(tf.io.gfile, name, fail)
    questions = (
        storage.exists,
        storage.is_folder,
        storage.make_folder,
        storage.names_in,
        storage.remove_file,
        lambda path: storage.matching(path, "*"),
        lambda path: storage.read_locally(path).__enter__(),
        lambda path: write_atomically(path, "text"),
        input_files.matching,
    )
    for ask in questions:
        with pytest.raises(OSError, match="No") as found:
            ask("gs://b/x/y.json")
        assert found.value.filename.startswith("gs://b/x")
