"""A model outside the package: registered once, then loaded, converted and served."""

import json

import keras
import numpy as np
import pytest

from albert_tf.checkpoints.albert import ALBERT
from albert_tf.checkpoints.albert import AlbertFamily
from albert_tf.convert import main
from albert_tf.errors import UserError
from albert_tf.models import head_variables
from albert_tf.models import registry
from albert_tf.models.albert import AlbertModel
from albert_tf.models.base import PretrainedModel
from albert_tf.models.pretraining import AlbertForPreTraining
from albert_tf.serving.export import ExportOptions
from albert_tf.serving.export import export
from albert_tf.serving.heads import Head
from albert_tf.serving.predictor import Predictor
from albert_tf.tokenization import load_tokenizer


class AlbertForTextLength(PretrainedModel):
    """Logits of how long a text is, one a bin."""

    family = ALBERT
    head_table = head_variables.dense("length_head", "length/dense", "length.dense")
    served_forms = {"length": f"{__name__}:serve_length"}
    default_served_form = "length"

    def __init__(self, config, num_bins, scale=1.0, **kwargs):
        super().__init__(config, **kwargs)
        self.num_bins = num_bins
        self.scale = scale
        self.albert = AlbertModel(config, name="albert", **self.execution)
        self.length_head = keras.layers.Dense(num_bins, name="length_head")
        self.build()

    def build(self, input_shape=None):
        self.length_head.build((None, self.config.hidden_size))

    def call(self, features, training=False, dropout_seed=None):
        seed = self._dropout_seed(training, dropout_seed)
        encoded = self.albert(features, training=training, dropout_seed=seed)
        return self.length_head(encoded["pooled_output"]) * self.scale  # [B, bins]

    def head_config(self):
        return {"num_bins": self.num_bins, "scale": self.scale}

    def head_config_to_huggingface(self):
        return {"length_scale": self.scale}

    @classmethod
    def head_config_from_huggingface(cls, entries):
        return {"scale": entries["length_scale"]}

    @classmethod
    def complete_arguments(cls, arguments, tensors):
        return {"num_bins": len(tensors["length/dense/bias"]), **arguments}


def serve_length(model_dir, task, tokenizer, **execution):
    model = AlbertForTextLength.from_pretrained(model_dir, **execution)
    return Head(
        "length",
        model.config,
        model.variables,
        lambda features: {"bins": model(features)},
        lambda numbers, features: numbers,
        {"bins": "a logit for each length"},
    )


class OtherFamily(AlbertFamily):
    config_file = "other_config.json"
    huggingface_type = "other"


class OtherModel(AlbertModel):
    family = OtherFamily()


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    """Registers the two classes for the time of a test."""
    monkeypatch.setattr(registry, "_REGISTERED", {})
    for model_class in (AlbertForTextLength, OtherModel):
        assert registry.register_model(model_class) is model_class


@pytest.fixture
def saved(tiny_config, tmp_path):
    """A model whose directory is `model` and whose vocabulary is 37 pieces."""
    vocabulary = tmp_path / "vocab.txt"
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *map(chr, range(97, 123))]
    vocabulary.write_text("\n".join(pieces) + "\n")
    model = AlbertForTextLength(tiny_config(), num_bins=5, scale=2.5)
    model.length_head.bias.assign(np.arange(5.0))
    model.save_pretrained(tmp_path / "model", load_tokenizer(vocabulary))
    return model


def convert(tmp_path, source, target, *flags):
    main(["", f"--from={tmp_path / source}", f"--to={tmp_path / target}", *flags])


def assert_same_weights(found, expected):
    variables = found.official_variables()
    assert list(variables) == list(expected.official_variables())
    for name, variable in expected.official_variables().items():
        np.testing.assert_array_equal(variables[name], variable)


def test_it_is_converted_there_and_back(saved, tiny_features, tmp_path, capsys):
    convert(tmp_path, "model", "theirs", "--to_format=huggingface")
    convert(tmp_path, "theirs", "back")
    convert(tmp_path, "back", "official", "--to_format=tf1")
    convert(tmp_path, "official", "again", "--model_class=auto")
    assert capsys.readouterr().out.count("AlbertForTextLength written") == 4
    theirs = json.loads((tmp_path / "theirs" / "config.json").read_text())
    assert theirs["architectures"] == ["AlbertForTextLength"]
    assert theirs["length_scale"] == 2.5
    back = AlbertForTextLength.from_pretrained(tmp_path / "back")
    assert_same_weights(back, saved)
    np.testing.assert_array_equal(back(tiny_features), saved(tiny_features))
    again = AlbertForTextLength.from_pretrained(tmp_path / "again")
    assert_same_weights(again, saved)
    # Official checkpoints hold tensors and the encoder's config only.
    assert again.head_config() == {"num_bins": 5, "scale": 1.0}


def test_hugging_face_gets_its_names(saved, tmp_path):
    safetensors = pytest.importorskip("safetensors.numpy")
    convert(tmp_path, "model", "theirs", "--to_format=huggingface")
    tensors = safetensors.load_file(tmp_path / "theirs" / "model.safetensors")
    kernel = saved.length_head.kernel
    np.testing.assert_array_equal(tensors["length.dense.weight"], np.transpose(kernel))
    np.testing.assert_array_equal(tensors["length.dense.bias"], np.arange(5.0))


def test_its_head_is_one_that_others_skip(saved, tmp_path, monkeypatch):
    convert(tmp_path, "model", "official", "--to_format=tf1")
    convert(tmp_path, "model", "theirs", "--to_format=huggingface")
    for folder in ("official", "theirs"):
        report = AlbertModel.from_pretrained(tmp_path / folder).load_report
        assert set(report.unexpected) == {"length/dense/kernel", "length/dense/bias"}
    monkeypatch.setattr(registry, "_REGISTERED", {})
    with pytest.raises(UserError, match="has no place for: length/dense"):
        AlbertModel.from_pretrained(tmp_path / "official")
    with pytest.raises(
        UserError, match=r"names the model 'AlbertForTextLength'\. .*re"
    ):
        AlbertModel.from_pretrained(tmp_path / "model")


def test_it_is_served(saved, tmp_path):
    export(ExportOptions(str(tmp_path / "model"), str(tmp_path / "served")))
    answers = Predictor(tmp_path / "served")(["a b c"])
    ids = np.array([[2, 5, 6, 7, 3]])
    expected = saved({"input_ids": ids})
    np.testing.assert_allclose(answers["bins"], expected, atol=1e-5)
    description = (tmp_path / "served" / "1" / "signature.json").read_text()
    assert json.loads(description)["serves"] == "length"


def test_a_new_head_is_not_served(saved, tmp_path):
    pretrained = AlbertForPreTraining(saved.config)
    pretrained.save_pretrained(tmp_path / "other", load_tokenizer(tmp_path / "model"))
    options = ExportOptions(str(tmp_path / "other"), str(tmp_path / "m"), task="length")
    with pytest.raises(UserError, match="=length does not fit .*from encoder, mask"):
        export(options)


@pytest.mark.parametrize("form", ["model_directory", "tf1", "huggingface"])
def test_another_family_has_files_of_its_own(form, tiny_config, tmp_path, capsys):
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
