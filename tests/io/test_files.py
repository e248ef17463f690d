"""Files and folders on a disk and in a bucket; texts, JSON and recipes in them."""

import codecs
import errno
import json
import math
import os
from unittest import mock

import pytest
import tensorflow as tf

from albert_tf.checkpoints.flags import ReadingFlags
from albert_tf.cli.command_line import parse
from albert_tf.cli.command_line import run
from albert_tf.config import AlbertConfig
from albert_tf.errors import UserError
from albert_tf.io import storage
from albert_tf.io.files import find_recipe
from albert_tf.io.files import json_text
from albert_tf.io.files import read_json_object
from albert_tf.io.files import write_atomically
from albert_tf.io.files import write_json
from albert_tf.io.text_files import read_lines
from albert_tf.io.text_files import read_text
from albert_tf.pretraining.flags import PretrainingOptions
from data_pipeline.text import input_files


@pytest.mark.parametrize("kind", ["disk", "bucket"])
def test_files_are_written_whole_and_read(kind, tmp_path):
    """In TensorFlow's bucket in memory, too."""
    folder = str(tmp_path) if kind == "disk" else f"ram://{tmp_path.name}"
    path = f"{folder}/a/b.txt"
    assert not storage.exists(path)
    for contents in ("old", "new"):
        write_atomically(path, contents)
        assert storage.read_bytes(path) == contents.encode()
    with pytest.raises(TypeError):
        write_atomically(path, 3)
    with storage.read_locally(path) as local, open(local, encoding="utf-8") as file:
        assert file.read() == "new"
    with storage.opened(path) as file:
        assert file.read() == b"new" and not file.closed
    assert storage.exists(path) and not storage.is_folder(path)
    storage.make_folder(f"{folder}/empty/deep")
    for name in ("a", "empty", "empty/deep"):
        assert storage.is_folder(f"{folder}/{name}")
    assert storage.names_in(f"{folder}/a") == ["b.txt"]
    # A folder takes the place of another.
    for name in ("best-1/a", "best-1/old", "best-2.tmp/a"):
        write_atomically(f"{folder}/{name}", name)
    storage.replace_folder(f"{folder}/best-2.tmp", f"{folder}/best-1")
    assert storage.matching(folder, "best-*") == [f"{folder}/best-1"]
    assert storage.names_in(f"{folder}/best-1") == ["a"]
    assert storage.read_bytes(f"{folder}/best-1/a") == b"best-2.tmp/a"
    # TensorFlow's memory has no times.
    time = os.stat(f"{folder}/best-1/a").st_mtime_ns if kind == "disk" else 0
    assert storage.modified_at(f"{folder}/best-1/a") == time
    found = input_files.find(f"{folder}/a/b.txt", input_files.matching, "text")
    assert found == [f"{folder}/a/b.txt"]
    for _ in range(2):
        storage.remove_folder(f"{folder}/best-1")
        assert not storage.exists(f"{folder}/best-1")
    # Brackets in its name are no pattern.
    for name in ("a[1]/best-1", "a1/best-2", "a[1]/last"):
        write_atomically(f"{folder}/{name}", name)
    assert storage.matching(f"{folder}/a[1]", "best-*") == [f"{folder}/a[1]/best-1"]
    assert storage.matching(f"{folder}/missing", "*") == []


def test_a_full_disk_names_the_file(tmp_path, monkeypatch):
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    write_atomically(tmp_path / "a.bin", b"old")
    monkeypatch.setattr(os, "fsync", mock.Mock(side_effect=full))
    with pytest.raises(OSError, match="No space left") as error:
        write_atomically(tmp_path / "a.bin", b"new")
    assert error.value.filename == str(tmp_path / "a.bin")
    assert (tmp_path / "a.bin").read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.bin"]


_HTTP = "Error executing an HTTP request: HTTP response code 401"
_WHY = "Anonymous caller does not have storage.objects.get access."
_BODY = f"""{_HTTP} with body '{{
  "error": {{
    "code": 401,
    "message": "{_WHY}",
    "errors": [{{"reason": "required"}}]
  }}
}}'
\t when reading metadata of gs://b/x.json"""


@pytest.mark.parametrize(
    ("message", "path", "said"),
    [
        (_BODY, None, f"{_HTTP} ({_WHY}), when reading metadata of gs://b/x.json."),
        ("gs://b/x does not exist", "gs://b/x", "gs://b/x does not exist."),
        ("Out of quota\nmore", "gs://b/x.json", "gs://b/x.json: Out of quota."),
    ],
)
def test_errors_of_buckets_name_the_path(message, path, said, capsys):
    def fail(options):
        with storage.os_errors(path):
            raise tf.errors.FailedPreconditionError(None, None, message)

    with pytest.raises(SystemExit):
        run(ReadingFlags, fail, argv=["x"])
    assert capsys.readouterr().err == f"error: {said}\n"


def test_every_question_about_a_bucket_names_it(monkeypatch):
    fail = mock.Mock(side_effect=tf.errors.PermissionDeniedError(None, None, "No"))
    for name in ("exists", "isdir", "makedirs", "listdir", "remove", "glob", "copy"):
        monkeypatch.setattr(tf.io.gfile, name, fail)
    for ask in (
        storage.exists,
        storage.is_folder,
        storage.make_folder,
        storage.names_in,
        storage.remove_file,
        lambda path: storage.matching(path, "*"),
        lambda path: storage.read_locally(path).__enter__(),
        lambda path: write_atomically(path, "text"),
        input_files.matching,
    ):
        with pytest.raises(OSError, match="No") as found:
            ask("gs://b/x/y.json")
        assert found.value.filename.startswith("gs://b/x")


def test_lines_end_in_lf_or_crlf(tmp_path):
    odd = "\ufeffone\rstill\r\n\u2028two\x85\n\n\n"
    for text, lines in (
        (odd, ["one\rstill", "\u2028two\x85", "", ""]),
        ("one\n\nlast\r", ["one", "", "last"]),
        ("", []),
        ("\ufeff", []),
    ):
        (tmp_path / "a.txt").write_bytes(text.encode())
        assert read_lines(tmp_path / "a.txt") == lines


_TEXT = "naïve café — schön\n" * 3
_PICTURE = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\1\0"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (codecs.BOM_UTF16_BE + _TEXT.encode("utf-16-be"), "is UTF-16, expected"),
        (codecs.BOM_UTF32_BE + _TEXT.encode("utf-32-be"), "is UTF-32, expected"),
        ("plain".encode("utf-16-le"), "is no text in UTF-8: 5 of its first 10 bytes"),
        ("naïve café\n".encode("latin-1"), r"is not UTF-8 \(.*, line 1\); convert it"),
        (b"\x1f\x8b\x08\0\rx", "is no text but a gzip archive; decompress"),
        (_PICTURE, "is no text in UTF-8: .* as in pictures"),
        (b"one\rtwo\r", "ends its lines with CR alone, expected"),
    ],
)
def test_other_encodings_and_no_text(tmp_path, data, message):
    path = tmp_path / "a.txt"
    path.write_bytes(data)
    with pytest.raises(UserError, match=f"a.txt {message}"):
        read_lines(path)
    if data.startswith(b"one"):  # a whole text needs no lines
        assert read_text(path) == "one\rtwo\r"
    else:
        with pytest.raises(UserError, match=f"a.txt {message}"):
            read_text(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b'{"a":' * 200_000, "is not valid JSON: it is nested too deeply"),
        (b'{"a": ' + b"9" * 5000 + b"}", "is not valid JSON"),
        (b'{"b": {"c": 1, "c": 3}}', "is not valid JSON: it sets 'c' twice in one"),
    ],
)
def test_damaged_json_is_one_sentence(text, message, tmp_path):
    (tmp_path / "a.json").write_bytes(text)
    with pytest.raises(UserError, match=message) as error:
        read_json_object(tmp_path / "a.json")
    assert str(tmp_path / "a.json") in str(error.value)


def test_json_without_numbers_that_json_lacks(tmp_path):
    values = {"a": [math.nan, 1.5, (math.inf,)], "é": {"b": -math.inf}}
    write_json(tmp_path / "x.json", values)
    text = (tmp_path / "x.json").read_text(encoding="utf-8")
    expected = {"a": [None, 1.5, [None]], "é": {"b": None}}
    assert json.loads(text, parse_constant=pytest.fail) == expected
    assert json_text(math.nan, indent=None) == "null\n"
    assert json_text({"é": 1}, indent=None, ensure_ascii=True) == '{"\\u00e9": 1}\n'
    deep = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(ValueError, match="it is nested too deeply"):
        json_text(deep)


def test_a_recipe_is_found_by_its_name(project, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name = "pretraining/base"
    for known in (name, f"{name}.json", f"configs/{name}.json"):
        assert find_recipe(known) == str(project / "configs" / f"{name}.json")
    argv = ["run", f"--config={name}", "--input_file=a", "--output_dir=b"]
    options = parse(PretrainingOptions, argv)
    assert options.train_batch_size == 4096
    config = AlbertConfig.from_json_file(options.albert_config_file)
    assert config.hidden_size == 768
    # A file of one's own comes before it.
    for name in ("elsewhere/none", "../setup", "", "gs://a/b.json"):
        assert find_recipe(name) == name
    for name in ("glue/rte.json", "pretraining/bso"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("{}")
        assert find_recipe(name) == name
    assert find_recipe("pretraining/bse") == "pretraining/bse"  # a typing error
