"""Commands take the names of models, and upload them, to a server on this machine."""

import dataclasses
import json
from unittest import mock

import numpy as np
import pytest

import albert_tf
from albert_tf.checkpoints.model_card import MARK
from albert_tf.cli import command_line
from albert_tf.commands import upload
from albert_tf.errors import UserError
from albert_tf.hub import names
from albert_tf.hub.names import local_directory
from albert_tf.hub.names import with_local_models
from albert_tf.models.albert import AlbertModel
from albert_tf.pretraining import run
from albert_tf.pretraining.flags import PretrainingOptions
from albert_tf.pretraining.settings import resolve
from albert_tf.tasks.classification.flags import ClassifierOptions
from albert_tf.tasks.classification.run import check_flags
from albert_tf.tasks.classification.run import read_tables
from albert_tf.tasks.commands.flags import TaskOptions

NAME = "hf://albert/tiny"


def test_pretraining_starts_from_what_was_downloaded(published, flags, monkeypatch):
    prepare = mock.Mock(side_effect=KeyboardInterrupt)
    monkeypatch.setattr(run, "_prepare", prepare)
    argv = flags(init_checkpoint=NAME)
    options = resolve(command_line.parse(PretrainingOptions, ["run", *argv]))
    with pytest.raises(KeyboardInterrupt):
        run.pretrain(options)
    (local,) = prepare.call_args.args
    assert local.init_checkpoint == local_directory(NAME)
    assert "model.safetensors" in published.downloads()


def test_what_a_task_starts_from_is_found_at_the_top(published):
    start = with_local_models(TaskOptions(output_dir="out", vocab_file=NAME))
    assert "model.safetensors" not in published.downloads()
    folder = local_directory(NAME, weights=False)
    assert start == TaskOptions(output_dir="out", vocab_file=folder)
    start = with_local_models(TaskOptions(output_dir="out", init_checkpoint=NAME))
    assert "model.safetensors" in published.downloads()
    assert start == TaskOptions(output_dir="out", init_checkpoint=folder)


@pytest.fixture
def tables(hub, tmp_path):
    """Publishes texts by name of file as "someone/moods"; returns flags for them."""
    names._tables.cache_clear()

    def publish(name="someone/moods", revision="main", **files):
        folder = tmp_path / name.replace("/", "-")
        folder.mkdir()
        for kind, text in files.items():
            (folder / kind.replace("_", ".")).write_text(text)
        hub.add(name, folder, revision)
        return {"task_name": "custom", "output_dir": str(tmp_path / "out")}

    return publish


def test_tables_by_name(hub, tables):
    row = '{"text": "a", "label": "x"}\n'
    files = {"train_jsonl": row * 2, "dev_jsonl": row, "train_parquet": "not needed"}
    options = ClassifierOptions(
        **tables(revision="v1", **files),
        data_dir="hf://someone/moods@v1",
        text_column="text",
        labels="x,y",
        do_train=True,
    )
    check_flags(options)
    _, found = read_tables(with_local_models(options), None, predict=False)
    assert hub.downloads() == ["dev.jsonl", "train.jsonl"]
    assert found["train"].texts == ["a", "a"]
    tables("nyu-mll/glue", train_parquet="not needed")
    other = dataclasses.replace(options, data_dir="hf://nyu-mll/glue", task_name="rte")
    message = (
        r"^hf://nyu-mll/glue holds no table that albert_tf reads \(\.tsv, \.csv, "
        r"\.jsonl, \.ndjson, \.jsonlines\).*files are at https://gluebenchmark\.com"
    )
    with pytest.raises(UserError, match=message):
        with_local_models(other)
    with pytest.raises(UserError, match="hf://no/such does not exist"):
        with_local_models(dataclasses.replace(other, data_dir="hf://no/such"))


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


def test_a_private_repository_and_a_card_of_somebody_else_stay(model, files, hub):
    model.push_to_hub("me/mine", private=True)
    assert hub.private == {"me/mine"}
    edited = files()["README.md"].decode().replace(MARK, "") + "What I know of it."
    files()["README.md"] = edited.encode()
    model.push_to_hub("me/mine", private=True, license="mit")
    assert files()["README.md"].decode() == edited
    hub.private.clear()
    before = dict(files())
    with pytest.raises(UserError, match="hf://me/mine is there and public; make it"):
        model.push_to_hub("me/mine", private=True)
    assert files() == before


def test_who_may_not_write(model, hub, monkeypatch, tmp_path):
    from huggingface_hub import HfApi
    from huggingface_hub import constants
    from huggingface_hub.errors import LocalEntryNotFoundError

    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.delenv("HUGGING_FACE_HUB_TOKEN", raising=False)
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "none"))
    with pytest.raises(UserError, match="set HF_TOKEN, or type hf auth login"):
        model.push_to_hub("me/mine")
    assert not hub.requests
    monkeypatch.setenv("HF_TOKEN", "hf_reads")
    not_uploaded = r"^hf://me/mine could not be uploaded to http://127\S+: "
    with pytest.raises(UserError, match=not_uploaded):
        model.push_to_hub("me/mine")
    monkeypatch.setenv("HF_TOKEN", "hf_writes")
    for method, error in (
        ("upload_folder", RuntimeError("no")),
        ("hf_hub_download", LocalEntryNotFoundError("no")),  # of the card
    ):
        with monkeypatch.context() as patch:
            patch.setattr(HfApi, method, mock.Mock(side_effect=error))
            with pytest.raises(UserError, match=f"{not_uploaded}no"):
                model.push_to_hub("me/mine")


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
