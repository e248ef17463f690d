"""Uploads to the Hugging Face Hub, to a server on this machine."""

import json

import numpy as np
import pytest

import albert_tf
from albert_tf.checkpoints.model_card import MARK
from albert_tf.commands import upload
from albert_tf.errors import UserError
from albert_tf.hub import names
from albert_tf.models.albert import AlbertModel


@pytest.fixture
def files(hub, monkeypatch):
    """The files of the repository "me/mine"; the user may write."""
    monkeypatch.setenv("HF_TOKEN", "hf_writes")
    return lambda: hub.repositories["me/mine"]["main"]


@pytest.fixture
def model(tiny_config):
    return AlbertModel(tiny_config())


def test_a_model_goes_up_and_comes_down(model, files, hub):
    address = model.push_to_hub("me/mine", license="mit", language="fi, sv")
    assert address == f"{hub.url}/me/mine"
    assert {"README.md", "SHA256SUMS", "config.json", "model.safetensors"} == {*files()}
    card = files()["README.md"].decode()
    assert card.startswith('---\nlanguage: ["fi", "sv"]\nlicense: "mit"\n')
    assert 'transformers.AlbertModel.from_pretrained("me/mine")' in card
    assert 'albert_tf.AlbertModel.from_pretrained("hf://me/mine")' in card
    again = AlbertModel.from_pretrained("hf://me/mine")
    np.testing.assert_array_equal(again.pooler.kernel, model.pooler.kernel)
    assert not hub.private


def test_another_form_takes_the_place_of_the_first(model, files, tiny_config):
    model.push_to_hub("me/mine", format="model_directory")
    files()["notes.txt"] = b"mine"
    assert "model.weights.h5" in files()
    other = AlbertModel(tiny_config(norm="pre"))
    other.push_to_hub("me/mine")
    assert {"modeling_albert_tf.py", "notes.txt"} < {*files()}
    call = 'AutoModel.from_pretrained("me/mine", trust_remote_code=True)'
    assert call in files()["README.md"].decode()
    assert not {"model.weights.h5", "albert_config.json", "head.json"} & {*files()}
    model.push_to_hub("me/mine")
    assert not [name for name in files() if name.endswith(".py")]
    names._repository.cache_clear()
    assert AlbertModel.from_pretrained("hf://me/mine").config.norm == "post"


def test_a_card_of_somebody_else_stays(model, files):
    model.push_to_hub("me/mine")
    edited = files()["README.md"].decode().replace(MARK, "") + "What I know of it."
    files()["README.md"] = edited.encode()
    model.push_to_hub("me/mine", license="mit")
    assert files()["README.md"].decode() == edited


def test_a_private_repository(model, files, hub):
    model.push_to_hub("me/mine", private=True)
    assert hub.private == {"me/mine"}
    model.push_to_hub("me/mine", private=True)
    hub.private.clear()
    before = dict(files())
    with pytest.raises(UserError, match="hf://me/mine is there and public; make it"):
        model.push_to_hub("me/mine", private=True)
    assert files() == before


def test_who_may_not_write(model, hub, monkeypatch, tmp_path):
    from huggingface_hub import constants

    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.delenv("HUGGING_FACE_HUB_TOKEN", raising=False)
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "none"))
    with pytest.raises(UserError, match="set HF_TOKEN, or type hf auth login"):
        model.push_to_hub("me/mine")
    assert not hub.requests
    monkeypatch.setenv("HF_TOKEN", "hf_reads")
    with pytest.raises(UserError, match=r"^hf://me/mine could not be uploaded to \S"):
        model.push_to_hub("me/mine")
    with pytest.raises(UserError, match="'mine' names no repository: expected owner/n"):
        model.push_to_hub("mine")


def test_the_command(files, hub, opened, capsys):
    flags = ["--language=en", "--license=apache-2.0", "--datasets=me/rows"]
    flags += ["--private"]
    folder = opened("classification").folder
    upload.main(["upload", f"--model_dir={folder}", "--repo=me/mine", *flags])
    assert "AlbertForSequenceClassification uploaded to http" in capsys.readouterr().out
    assert hub.private == {"me/mine"}
    card = files()["README.md"].decode()
    _, header, body = card.split("---\n", 2)
    told = dict(line.split(": ", 1) for line in header.splitlines())
    assert {name: json.loads(value) for name, value in told.items()} == {
        "language": ["en"],
        "license": "apache-2.0",
        "library_name": "transformers",
        "pipeline_tag": "text-classification",
        "datasets": ["me/rows"],
        "tags": ["albert-tf", "albert"],
    }
    assert "gives a text one of the labels no, yes" in body
    assert "texts of up to 24 tokens" in body
    names._repository.cache_clear()
    found = albert_tf.Predictor("hf://me/mine")("a good film")["probabilities"]
    ours = albert_tf.Predictor(folder)("a good film")["probabilities"]
    assert found == pytest.approx(ours, abs=1e-6)


def test_an_embedder(files, opened, hub):
    embedder = albert_tf.TextEmbedder(opened("similarity").folder)
    embedder.push_to_hub("me/mine", private=True)
    assert {"modules.json", "vocab.txt"} < {*files()}
    assert 'SentenceTransformer("me/mine")' in files()["README.md"].decode()
    assert hub.private == {"me/mine"}
