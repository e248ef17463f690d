"""Models of the Hugging Face Hub by name, from a server on this machine."""

import json
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest
from safetensors import numpy as safetensors

import albert_tf
from albert_tf.checkpoints import sentence_transformers
from albert_tf.errors import UserError
from albert_tf.hub import names
from albert_tf.hub.names import local_directory

NEEDED = ["config.json", "model.safetensors", "spiece.model"]


@pytest.fixture
def offline(monkeypatch):
    """Sets HF_HUB_OFFLINE, and forgets what this process has found."""

    def set_offline():
        from huggingface_hub import constants

        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
        names._repository.cache_clear()

    return set_offline


def test_a_model_by_name(published):
    model = albert_tf.AlbertForPreTraining.from_pretrained("hf://albert/tiny")
    expected = safetensors.load_file(published.folder / "model.safetensors")
    np.testing.assert_array_equal(
        model.albert.embeddings.word_embeddings,
        expected["albert.embeddings.word_embeddings.weight"],
    )
    names._repository.cache_clear()
    albert_tf.AlbertForPreTraining.from_pretrained("hf://albert/tiny")
    # Each once, and no weights of other libraries.
    assert published.downloads() == NEEDED


def test_the_pooling_of_sentence_transformers_comes_along(published):
    files = published.repositories["albert/tiny"]["main"]
    files |= dict.fromkeys(sentence_transformers.FILES, b"{}")
    folder = pathlib.Path(local_directory("hf://albert/tiny"))
    for name in sentence_transformers.FILES:
        assert (folder / name).read_bytes() == b"{}"


def test_a_tokenizer_alone_needs_no_weights(published):
    tokenizer = albert_tf.load_tokenizer("hf://albert/tiny")
    assert tokenizer.vocab_size == 36
    assert published.downloads() == ["spiece.model"]


@pytest.mark.parametrize(
    ("file", "contents", "lowers"),
    [
        ("tokenizer_config.json", {"do_lower_case": False}, False),
        ("tokenizer.json", {"normalizer": {"type": "NFKD"}}, False),
        ("tokenizer.json", {"normalizer": {"type": "Lowercase"}}, True),
    ],
)
def test_casing(published, file, contents, lowers):
    files = published.repositories["albert/tiny"]["main"]
    files[file] = json.dumps(contents).encode()
    assert albert_tf.load_tokenizer("hf://albert/tiny").do_lower_case is lowers


def test_a_revision(published, tiny_config):
    files = dict(published.repositories["albert/tiny"]["main"])
    files["config.json"] = files["config.json"].replace(b"0.2", b"0.3")
    published.repositories["albert/tiny"]["v2"] = files
    model_class = albert_tf.AlbertForPreTraining
    for path, revision, expected in (
        ("hf://albert/tiny", None, 0.2),
        ("hf://albert/tiny@v2", None, 0.3),
        ("hf://albert/tiny", "v2", 0.3),
    ):
        model = model_class.from_pretrained(path, revision=revision)
        assert model.config.initializer_range == expected
    with pytest.raises(UserError, match=r"@v3 does not exist: .*no such revision"):
        model_class.from_pretrained("hf://albert/tiny@v3")
    with pytest.raises(
        UserError, match="names the revision v2, not main; give only one"
    ):
        model_class.from_pretrained("hf://albert/tiny@v2", revision="main")
    with pytest.raises(UserError, match="works only with hf:// names"):
        model_class.from_pretrained(published.folder, revision="main")
    with pytest.raises(UserError, match=r"@v3 does not exist"):
        albert_tf.load_tokenizer("hf://albert/tiny", revision="v3")


def test_offline(published, offline):
    folder = local_directory("hf://albert/tiny")
    offline()
    asked = len(published.requests)
    assert local_directory("hf://albert/tiny") == folder
    message = r"hf://albert/other could not be downloaded from \S+: \S.*\.$"
    with pytest.raises(UserError, match=message) as caught:
        local_directory("hf://albert/other")
    assert "\n" not in str(caught.value)
    assert len(published.requests) == asked


def test_no_such_repository(hub):
    with pytest.raises(UserError, match="hf://albert/none does not exist, or is priv"):
        local_directory("hf://albert/none")
    for name in ("tiny", "a/b/c", "", "a/"):
        with pytest.raises(
            UserError, match="is not a repository: expected hf://owner/na"
        ):
            local_directory(f"hf://{name}")


def test_no_weights_that_are_read_here(published):
    del published.repositories["albert/tiny"]["main"]["model.safetensors"]
    with pytest.raises(UserError, match=r"holds no model\.safetensors"):
        local_directory("hf://albert/tiny")


@pytest.mark.parametrize("file", ["model.safetensors", "config.json"])
def test_a_damaged_file(published, file):
    data = published.repositories["albert/tiny"]["main"][file]
    published.damaged[file] = data[:-1] + bytes([data[-1] ^ 1])
    with pytest.raises(UserError, match=rf"{file} of hf://albert/tiny is damaged"):
        local_directory("hf://albert/tiny")


def test_a_damaged_file_in_the_cache(published):
    folder = pathlib.Path(local_directory("hf://albert/tiny"))
    path = folder / "model.safetensors"
    path.resolve().write_bytes(b"0" * path.stat().st_size)
    names._repository.cache_clear()
    with pytest.raises(UserError, match="is damaged: its hash is not the published"):
        local_directory("hf://albert/tiny")


def test_in_a_process_of_its_own(published, project):
    """As a user has it: nothing but environment variables leads to the server."""
    program = (
        "import sys; from albert_tf.hub.names import local_directory;"
        "print(local_directory('hf://albert/tiny')); assert 'tensorflow' not in "
        "sys.modules"
    )
    environment = {**os.environ, "PYTHONPATH": str(project)}

    def run(**more):
        return subprocess.run(
            [sys.executable, "-c", program],
            env={**environment, **more},
            capture_output=True,
            text=True,
        )

    first = run()
    assert first.returncode == 0, first.stderr
    assert "100%" in first.stderr  # the bar of their library
    again = run(HF_HUB_OFFLINE="1", HF_ENDPOINT="http://127.0.0.1:9")
    assert again.stdout == first.stdout
    folder = pathlib.Path(first.stdout.strip())
    assert sorted(path.name for path in folder.iterdir()) == NEEDED


def test_a_web_page_is_no_model():
    with pytest.raises(
        UserError, match="is a web page; write hf://albert/albert-base-v2"
    ):
        local_directory("https://huggingface.co/albert/albert-base-v2/tree/main")
    page = "https://tfhub.dev/google/albert_base/2"
    message = f"{page} is a web page; write {page}?tf-hub-format=compressed instead"
    with pytest.raises(UserError, match=f"^{re.escape(message)}"):
        local_directory(page)


@pytest.mark.parametrize("folder", [".ready", ".new"])
def test_files_of_a_saving_that_was_interrupted(published, folder):
    files = published.repositories["albert/tiny"]["main"]
    files[f"{folder}/spiece.model"] = files["spiece.model"]
    with pytest.raises(UserError, match="tiny holds files of a saving that was inter"):
        local_directory("hf://albert/tiny")


@pytest.mark.parametrize("name", ["../../../../outside.model", "/outside.model"])
def test_names_of_files_that_lead_elsewhere(published, name, tmp_path):
    files = published.repositories["albert/tiny"]["main"]
    files[name] = files["spiece.model"]
    with pytest.raises(UserError, match="hf://albert/tiny could not be downloaded"):
        local_directory("hf://albert/tiny")
    assert not list(tmp_path.rglob("outside.model"))
