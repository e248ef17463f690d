"""The models that the package holds."""

import pytest

import albert_tf
from albert_tf.cli import commands
from albert_tf.config import RELEASED_SIZES
from albert_tf.errors import UserError
from albert_tf.hub.names import local_directory
from albert_tf.hub.shipped import shipped_models
from albert_tf.io import checksums

NAME = "wikipedia_small"


@pytest.mark.parametrize("name", shipped_models())
def test_its_card_has_its_digests_and_it_is_small(name):
    folder = shipped_models()[name]
    card = (folder / "README.md").read_text("utf-8")
    listed = checksums.read(folder)
    assert listed["model.weights.h5"] in card
    assert listed["spiece.model"] in card
    assert sum(path.stat().st_size for path in folder.iterdir()) < 4e6
    assert "license: " in card


def test_a_folder_of_that_name_goes_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert local_directory(NAME) == str(shipped_models()[NAME])
    (tmp_path / NAME).mkdir()
    assert local_directory(NAME) == NAME
    with pytest.raises(UserError, match="wikipedia_smal; did you mean wikipedia_small"):
        local_directory("wikipedia_smal")


def test_the_names_are_listed(capsys):
    commands.main(["albert-tf", "models"])
    rows = capsys.readouterr().out.splitlines()
    assert len(rows) == 1 + len(RELEASED_SIZES)
    name, parameters, *source = rows[0].split()
    model = albert_tf.AlbertModel.from_pretrained(name)
    assert int(parameters.replace(",", "")) == model.count_params()
    assert source == ["in", "this", "package"]
    first = "hf://albert/albert-base-v1 11,683,584 to download [hub]"
    assert " ".join(rows[1].split()) == first
    commands.main(["albert-tf", "models", f"--card={NAME}"])
    printed = capsys.readouterr().out
    assert printed == (shipped_models()[NAME] / "README.md").read_text("utf-8")


def test_it_knows_english():
    predictor = albert_tf.Predictor(NAME, task="masked_lm")
    ((best, *_),) = predictor("he was born in new [MASK] city.")["masks"]
    assert best["token"] == "\u2581york"
    assert best["probability"] > 0.9
