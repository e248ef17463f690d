"""Names of models: the released, the shipped, and those of the Hugging Face Hub."""

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
from albert_tf.cli import commands
from albert_tf.config import RELEASED_SIZES
from albert_tf.config import AlbertConfig
from albert_tf.costs.albert import encoder_parameters
from albert_tf.costs.albert import pretraining_parameters
from albert_tf.errors import UserError
from albert_tf.hub import names
from albert_tf.hub.names import local_directory
from albert_tf.hub.repositories import names_of_release
from albert_tf.hub.shipped import shipped_models
from albert_tf.io import checksums


def test_released_names_and_the_table_of_the_page(project):
    rows = []
    for size in RELEASED_SIZES:
        config = AlbertConfig.released(size)
        encoder = sum(encoder_parameters(config).values())
        both_heads = sum(pretraining_parameters(config).values())
        *repository, _ = names_of_release(size)
        handle = f"`{repository[0]}`" if repository else "none"
        rows.append(f"| {size} | {encoder:,} | {both_heads:,} | {handle} |")
    assert "\n".join(rows) in (project / "docs" / "checkpoints.md").read_text()
    for name in ("albert/albert-base-v2", "ALBERT_base_v2.tar.gz", "base_v2"):
        repository, archive = names_of_release(name)
        assert repository == "hf://albert/albert-base-v2"
        assert re.fullmatch(r"https://storage\S+/albert_base_v2\.tar\.gz", archive)
    assert names_of_release("albert-base-v3") == []
    assert names_of_release("models/albert-base-v2") == []


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


_PAGE = "https://huggingface.co/albert/albert-base-v2"
NEEDED = ["config.json", "model.safetensors", "spiece.model"]


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


def test_the_pooling_of_sentence_transformers_and_the_casing_come_along(published):
    files = published.repositories["albert/tiny"]["main"]
    files |= dict.fromkeys(sentence_transformers.FILES, b"{}")
    files["tokenizer.json"] = b'{"normalizer": {"type": "NFKD"}}'
    folder = pathlib.Path(local_directory("hf://albert/tiny"))
    for name in sentence_transformers.FILES:
        assert (folder / name).read_bytes() == b"{}"
    assert albert_tf.load_tokenizer("hf://albert/tiny").do_lower_case is False


def test_a_tokenizer_alone_needs_no_weights(published):
    tokenizer = albert_tf.load_tokenizer("hf://albert/tiny")
    assert tokenizer.vocab_size == 36
    assert published.downloads() == ["spiece.model"]


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
    with pytest.raises(UserError, match="names the revision v2, not v3; give only one"):
        model_class.from_pretrained("hf://albert/tiny@v2", revision="v3")
    with pytest.raises(UserError, match="works only with hf:// names"):
        model_class.from_pretrained(published.folder, revision="main")


def test_offline(published, monkeypatch):
    from huggingface_hub import constants

    folder = local_directory("hf://albert/tiny")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    names._repository.cache_clear()
    asked = len(published.requests)
    assert local_directory("hf://albert/tiny") == folder
    message = r"hf://albert/other could not be downloaded from \S+: \S.*\.$"
    with pytest.raises(UserError, match=message) as caught:
        local_directory("hf://albert/other")
    assert "\n" not in str(caught.value)
    assert len(published.requests) == asked


def test_what_is_no_repository(hub):
    none = "is not a repository: expected hf://owner/na"
    hub_page = "https://tfhub.dev/google/albert_base/2"
    for name, message in {
        "hf://albert/none": "hf://albert/none does not exist, or is priv",
        "hf://albert/gated": "hf://albert/gated needs a login: accept its terms",
        **dict.fromkeys(("hf://tiny", "hf://a/b/c", "hf://", "hf://a/"), none),
        f"{_PAGE}/tree/main": "is a web page; write hf://albert/albert-base-v2",
        hub_page: rf"{hub_page} is a web page; write {hub_page}\?tf-hub-format=compr",
    }.items():
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
    message = f"{file} of hf://albert/tiny is damaged: its hash is not the published"
    published.damaged[file] = data[:-1] + bytes([data[-1] ^ 1])
    for _ in range(2):  # and from the cache
        with pytest.raises(UserError, match=message):
            local_directory("hf://albert/tiny")
    with checksums.verifying_weights(False):
        if file == "model.safetensors":
            assert pathlib.Path(local_directory("hf://albert/tiny"), file).exists()
        else:
            with pytest.raises(UserError, match=message):
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
