"""Models of the Hugging Face Hub by name, from a server on this machine."""

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

_PAGE = "https://huggingface.co/albert/albert-base-v2"
_HUB = "https://tfhub.dev/google/albert_base/2"
NEEDED = ["config.json", "model.safetensors", "spiece.model"]


@pytest.fixture
def offline(monkeypatch):

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


def test_casing(published):
    files = published.repositories["albert/tiny"]["main"]
    files["tokenizer.json"] = b'{"normalizer": {"type": "NFKD"}}'
    assert albert_tf.load_tokenizer("hf://albert/tiny").do_lower_case is False


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
    with pytest.raises(UserError, match="works only with hf:// names"):
        model_class.from_pretrained(published.folder, revision="main")


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


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("hf://albert/none", "hf://albert/none does not exist, or is priv"),
        *(
            (f"hf://{name}", "is not a repository: expected hf://owner/na")
            for name in ("tiny", "a/b/c", "", "a/")
        ),
        (f"{_PAGE}/tree/main", "is a web page; write hf://albert/albert-base-v2"),
        (_HUB, re.escape(f"{_HUB} is a web page; write {_HUB}?tf-hub-format=compr")),
    ],
)
def test_what_is_no_repository(hub, name, message):
    with pytest.raises(UserError, match=message):
        local_directory(name)


_INTERRUPTED = "albert/tiny holds files of a saving that was inter"
_ELSEWHERE = "hf://albert/tiny could not be downloaded"


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (None, r"holds no model\.safetensors"),
        (".ready/spiece.model", _INTERRUPTED),
        ("../../../../outside.model", _ELSEWHERE),
        ("/outside.model", _ELSEWHERE),
    ],
)
def test_repositories_that_are_refused(published, more, message, tmp_path):
    files = published.repositories["albert/tiny"]["main"]
    if more is None:
        del files["model.safetensors"]
    else:
        files[more] = files["spiece.model"]
    with pytest.raises(UserError, match=message):
        local_directory("hf://albert/tiny")
    assert not list(tmp_path.rglob("outside.model"))


@pytest.mark.parametrize("file", ["model.safetensors", "config.json"])
def test_a_damaged_file(published, file):
    data = published.repositories["albert/tiny"]["main"][file]
    published.damaged[file] = data[:-1] + bytes([data[-1] ^ 1])
    with pytest.raises(UserError, match=rf"{file} of hf://albert/tiny is damaged"):
        local_directory("hf://albert/tiny")


def test_a_damaged_file_in_the_cache(published):
    path = pathlib.Path(local_directory("hf://albert/tiny")) / "model.safetensors"
    path.resolve().write_bytes(b"0" * path.stat().st_size)
    names._repository.cache_clear()
    with pytest.raises(UserError, match="is damaged: its hash is not the published"):
        local_directory("hf://albert/tiny")


def test_in_a_process_of_its_own(published, project):
    """As a user has it: nothing but environment variables leads to the server."""
    program = (
        "import sys; from albert_tf.hub.names import local_directory;"
        "print(local_directory('hf://albert/tiny'));"
        "assert 'tensorflow' not in sys.modules"
    )

    def run(**more):
        environment = {**os.environ, "PYTHONPATH": str(project), **more}
        command = [sys.executable, "-c", program]
        return subprocess.run(command, env=environment, capture_output=True, text=True)

    first = run()
    assert first.returncode == 0, first.stderr
    assert "100%" in first.stderr  # the bar of their library
    again = run(HF_HUB_OFFLINE="1", HF_ENDPOINT="http://127.0.0.1:9")
    assert again.stdout == first.stdout
    folder = pathlib.Path(first.stdout.strip())
    assert sorted(path.name for path in folder.iterdir()) == NEEDED
