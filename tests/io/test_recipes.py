"""Recipes are found by their names, wherever the command is started."""

import pytest

from albert_tf.cli.command_line import parse
from albert_tf.config import AlbertConfig
from albert_tf.errors import UserError
from albert_tf.io.recipes import find_recipe
from albert_tf.pretraining.flags import PretrainingOptions


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
