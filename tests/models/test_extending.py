"""A model is registered once: the example of docs/extending.md."""

import importlib
import json
import re
import string
import sys

import numpy as np
import pytest
from safetensors import numpy as safetensors

from albert_tf import bundle
from albert_tf.commands.convert import main
from albert_tf.errors import UserError
from albert_tf.families import registry
from albert_tf.families.albert import AlbertFamily
from albert_tf.models.albert import AlbertModel
from albert_tf.serving.predictor import Predictor
from albert_tf.tasks import pretrained
from albert_tf.tokenization import load_tokenizer
from tests.saved_models import assert_same_weights

_MODEL, _SERVING = "text_length_model", "text_length_serving"


class OtherFamily(AlbertFamily):
    config_file = "other_config.json"
    huggingface_type = "other"


class OtherModel(AlbertModel):
    family = OtherFamily()


def documented(project, name):
    text = (project / "docs" / "extending.md").read_text()
    (code,) = re.findall(rf"<!-- {name} -->\n```python\n(.*?)```", text, re.DOTALL)
    return code


@pytest.fixture(autouse=True)
def text_length(project, tmp_path, monkeypatch):
    """The documented model, registered for the time of a test."""
    monkeypatch.setattr(registry, "_MODELS", dict(registry._MODELS))
    monkeypatch.setattr(pretrained, "_ANSWERS", dict(pretrained._ANSWERS))
    monkeypatch.syspath_prepend(tmp_path)
    for module, name in ((_MODEL, "model"), (_SERVING, "answers")):
        (tmp_path / f"{module}.py").write_text(documented(project, name))
        monkeypatch.delitem(sys.modules, module, raising=False)
    importlib.import_module(_SERVING)
    return sys.modules[_MODEL].AlbertForTextLength


@pytest.fixture
def saved(text_length, tiny_config, vocabulary, tmp_path):
    """A model in the directory `model`, with a vocabulary."""
    vocab = tmp_path / "vocab.txt"
    vocab.write_text(vocabulary(string.ascii_lowercase))
    model = text_length(tiny_config(), num_bins=5, scale=2.5)
    model.length_head.bias.assign(np.arange(5.0))
    model.save_pretrained(tmp_path / "model", load_tokenizer(vocab))
    return model


def convert(tmp_path, source, target, *flags):
    main(["", f"--from={tmp_path / source}", f"--to={tmp_path / target}", *flags])


def test_it_is_converted_there_and_back(
    saved, text_length, tiny_features, tmp_path, capsys
):
    convert(tmp_path, "model", "theirs", "--to_format=huggingface")
    convert(tmp_path, "theirs", "back")
    convert(tmp_path, "back", "official", "--to_format=tf1")
    convert(tmp_path, "official", "again", "--model_class=auto")
    assert capsys.readouterr().out.count("AlbertForTextLength written") == 4
    for folder in ("model", "theirs", "official"):
        assert bundle.open(tmp_path / folder).head()[0] is text_length
    theirs = json.loads((tmp_path / "theirs" / "config.json").read_text())
    assert theirs["architectures"] == ["AlbertForTextLength"]
    assert theirs["length_scale"] == 2.5
    tensors = safetensors.load_file(tmp_path / "theirs" / "model.safetensors")
    kernel = np.transpose(saved.length_head.kernel)
    np.testing.assert_array_equal(tensors["length.dense.weight"], kernel)
    back = text_length.from_pretrained(tmp_path / "back")
    assert_same_weights(back, saved)
    np.testing.assert_array_equal(back(tiny_features), saved(tiny_features))
    again = text_length.from_pretrained(tmp_path / "again")
    assert_same_weights(again, saved)
    # Official checkpoints hold tensors and the encoder's config only.
    assert again.head_config() == {"num_bins": 5, "scale": 1.0}


@pytest.mark.slow
def test_the_documented_use(
    project, text_length, vocabulary, tiny_config, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "vocab.txt").write_text(vocabulary("a"))
    AlbertModel(tiny_config()).save_pretrained("mine", load_tokenizer("vocab.txt"))
    exec(documented(project, "use of the model"), {})
    assert (tmp_path / "theirs" / "model.safetensors").exists()
    answers = Predictor("served/lengths").arrays(["a a"])
    model = text_length.from_pretrained("lengths")
    expected = model({"input_ids": np.array([[2, 5, 5, 3]])})
    np.testing.assert_allclose(answers["bins"], expected, atol=1e-5)
    description = json.loads((tmp_path / "served/lengths/1/signature.json").read_text())
    assert description["serves"] == "length"


@pytest.mark.parametrize("form", ["model_directory", "huggingface"])
def test_another_family_has_files_of_its_own(form, tiny_config, tmp_path, capsys):
    registry.register_model(OtherModel)
    model = OtherModel(tiny_config())
    model.save_pretrained(tmp_path / "model")
    convert(tmp_path, "model", "converted", f"--to_format={form}")
    config_file = "config.json" if form == "huggingface" else "other_config.json"
    assert (tmp_path / "converted" / config_file).exists()
    assert not (tmp_path / "converted" / "albert_config.json").exists()
    convert(tmp_path, "converted", "back")
    assert capsys.readouterr().out.count("OtherModel written") == 2
    assert_same_weights(OtherModel.from_pretrained(tmp_path / "back"), model)
    with pytest.raises(UserError, match="of the other family, but AlbertModel is of"):
        AlbertModel.from_pretrained(tmp_path / "converted")
