"""Model cards of folders for other programs."""

import json
import shutil

import pytest

from albert_tf.checkpoints.model_card import MARK
from albert_tf.checkpoints.model_card import Told
from albert_tf.checkpoints.model_card import in_words
from albert_tf.checkpoints.model_card import model_card
from albert_tf.models.albert import AlbertModel


def header_of(card):
    _, header, _ = card.split("---\n", 2)
    told = dict(line.split(": ", 1) for line in header.splitlines())
    return {name: json.loads(value) for name, value in told.items()}


@pytest.mark.parametrize(
    ("kind", "pipeline"),
    [
        ("pairs", "text-classification"),
        ("tagging", "token-classification"),
        ("similarity", "sentence-similarity"),
        ("pretraining", "fill-mask"),
        ("encoder", "feature-extraction"),
    ],
)
def test_every_kind_of_model(kind, pipeline, opened):
    model = opened(kind).model
    info = model.task_info() or {}
    card = model_card(model, info, "huggingface", Told(), "me/mine")
    header = header_of(card)
    assert header["pipeline_tag"] == pipeline
    library = "sentence" if kind == "similarity" else ""
    assert header["library_name"] == f"{library}-transformers".lstrip("-")
    assert 'from_pretrained("hf://me/mine")' in card
    official = model_card(model, info, "tf1", Told(), "mine")
    assert header_of(official)["library_name"] == "albert-tf"
    assert "transformers" not in official


def test_a_task_in_words():
    shown = ", ".join(map(str, range(20)))
    for labels, expected in ((20, shown), (22, f"{shown} and 2 more")):
        found = in_words("single_label", {"labels": range(labels), "pair": True})
        assert found == f"gives a pair of texts one of the labels {expected}"
    found = in_words("token_classification", {"labels": None})
    assert found == "gives each word one of the tags of its configuration"
    assert in_words("text_classification", {}).startswith("gives a text one of the la")
    assert in_words("length", {}) == "has a head of its own"


def test_scores_and_origin(opened):
    info = {
        "task": {"kind": "single_label", "name": "sst-2", "labels": ["no", "yes"]},
        "dev": {"accuracy": 0.91234, "loss": float("nan"), "rows": None},
        "init_checkpoint": "/c/models--albert--albert-base-v2/snapshots/0a1b/",
    }
    model = opened("classification").model
    card = model_card(model, info, "huggingface", Told(), "me/mine")
    header = header_of(card)
    assert header["base_model"] == "albert/albert-base-v2"
    (index,) = header["model-index"]
    (result,) = index["results"]
    assert result["task"] == {"type": "text-classification"}
    assert result["dataset"] == {"name": "sst-2, dev", "type": "sst-2"}
    assert result["metrics"] == [{"type": "accuracy", "value": 0.9123}]
    assert "| accuracy | 0.9123 |" in card
    info["init_checkpoint"] = "/home/me/secret"
    assert "secret" not in model_card(model, info, "huggingface", Told(), "me/mine")


def test_folders_keep_a_card_of_somebody_else(tiny_config, tmp_path):
    model, card = AlbertModel(tiny_config()), tmp_path / "README.md"
    model.saved_task_info = {"max_seq_length": 7}
    for given, told in (
        ({"dev": {"accuracy": 0.75}}, ("up to 16 tokens", "| accuracy | 0.75 |")),
        (None, ("up to 7 tokens",)),
    ):
        model.save_pretrained(tmp_path, None, given, format="huggingface")
        assert MARK in card.read_text()
        assert all(words in card.read_text() for words in told)
    model.save_pretrained(tmp_path)
    assert not card.exists()
    card.write_text("mine")
    for form in ("huggingface", "model_directory"):
        folder = tmp_path / form
        folder.mkdir()
        shutil.copy(card, folder)
        model.save_pretrained(folder, format=form)
        assert (folder / "README.md").read_text() == "mine"
