"""Files appear whole or not at all."""

import errno
import json
import math
import os

import pytest

from albert_tf.cli.command_line import parse
from albert_tf.config import AlbertConfig
from albert_tf.errors import UserError
from albert_tf.io.files import find_recipe
from albert_tf.io.files import json_text
from albert_tf.io.files import read_json_object
from albert_tf.io.files import write_atomically
from albert_tf.io.files import write_json
from albert_tf.pretraining.flags import PretrainingOptions


def test_missing_folders_are_made_and_old_contents_replaced(tmp_path):
    path = tmp_path / "a" / "b.bin"
    write_atomically(path, b"old")
    write_atomically(path, b"new")
    assert path.read_bytes() == b"new"
    assert [p.name for p in path.parent.iterdir()] == ["b.bin"]


def test_failure_keeps_the_old_file(tmp_path):
    path = tmp_path / "b.bin"
    write_atomically(path, b"old")
    with pytest.raises(TypeError):
        write_atomically(path, 3)
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["b.bin"]


def test_a_full_disk_names_the_file(tmp_path, monkeypatch):
    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    write_atomically(tmp_path / "a.bin", b"old")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left") as error:
        write_atomically(tmp_path / "a.bin", b"new")
    assert error.value.filename == str(tmp_path / "a.bin")
    assert (tmp_path / "a.bin").read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.bin"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"[" * 200_000, "is not valid JSON: it is nested too deeply"),
        (b'{"a":' * 200_000, "is not valid JSON: it is nested too deeply"),
        (b"{", "is not valid JSON"),
        (b"\xff{}", "is not valid JSON"),
        (b'{"a": ' + b"9" * 5000 + b"}", "is not valid JSON"),
        (b"[]", "must hold one JSON object"),
    ],
)
def test_damaged_json_is_one_sentence(text, message, tmp_path):
    (tmp_path / "a.json").write_bytes(text)
    with pytest.raises(UserError, match=message) as error:
        read_json_object(tmp_path / "a.json")
    assert str(tmp_path / "a.json") in str(error.value)


def test_text_and_json_are_written_as_utf8(tmp_path):
    write_atomically(tmp_path / "a.txt", "ÿ\n")
    assert (tmp_path / "a.txt").read_bytes() == "ÿ\n".encode()
    write_json(tmp_path / "a.json", {"ÿ": [1]})
    assert "ÿ" in (tmp_path / "a.json").read_text(encoding="utf-8")
    assert read_json_object(tmp_path / "a.json") == {"ÿ": [1]}


def test_json_that_is_nested_too_deeply_to_be_written():
    value = []
    for _ in range(5000):  # which some versions of Python read
        value = [value]
    with pytest.raises(ValueError, match="it is nested too deeply"):
        json_text(value)


def test_json_without_numbers_that_json_lacks(tmp_path):
    values = {"a": [math.nan, 1.5, (math.inf,)], "é": {"b": -math.inf}}
    write_json(tmp_path / "x.json", values)
    text = (tmp_path / "x.json").read_text(encoding="utf-8")
    expected = {"a": [None, 1.5, [None]], "é": {"b": None}}
    assert json.loads(text, parse_constant=pytest.fail) == expected
    assert json_text(math.nan, indent=None) == "null\n"
    assert json_text({"é": 1}, indent=None, ensure_ascii=True) == '{"\\u00e9": 1}\n'


def test_a_name_that_an_object_has_twice(tmp_path):
    path = tmp_path / "x.json"
    path.write_text('{"//": "a", "b": {"c": 1, "d": 2, "c": 3}, "//": "e"}')
    with pytest.raises(UserError, match="is not valid JSON: it sets 'c' twice in one"):
        read_json_object(path)
    path.write_text('{"//": "a", "b": 1, "//": "e"}')
    assert read_json_object(path)["b"] == 1


@pytest.mark.parametrize(
    "name",
    ["pretraining/base", "pretraining/base.json", "configs/pretraining/base.json"],
)
def test_a_recipe_is_found_by_its_name(name, project, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert find_recipe(name) == str(project / "configs" / "pretraining" / "base.json")
    argv = ["run", f"--config={name}", "--input_file=a", "--output_dir=b"]
    options = parse(PretrainingOptions, argv)
    assert options.train_batch_size == 4096
    config = AlbertConfig.from_json_file(options.albert_config_file)
    assert config.hidden_size == 768


def test_a_file_of_ones_own_comes_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "glue").mkdir()
    (tmp_path / "glue" / "rte.json").write_text("{}")
    assert find_recipe("glue/rte.json") == "glue/rte.json"


def test_a_recipe_with_a_typing_error(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match="did you mean the recipe pretraining/base.$"):
        find_recipe("pretraining/bse")
    (tmp_path / "pretraining").mkdir()
    (tmp_path / "pretraining" / "bso").touch()
    assert find_recipe("pretraining/bse") == "pretraining/bse"


@pytest.mark.parametrize("name", ["elsewhere/none", "../setup", "", "gs://a/b.json"])
def test_what_is_no_recipe_stays_as_it_is(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert find_recipe(name) == name
