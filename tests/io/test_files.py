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


def test_a_file_of_ones_own_comes_before_a_recipe(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("elsewhere/none", "../setup", "", "gs://a/b.json"):
        assert find_recipe(name) == name
    for name in ("glue/rte.json", "pretraining/bso"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("{}")
        assert find_recipe(name) == name
    assert find_recipe("pretraining/bse") == "pretraining/bse"  # a typing error
