"""Hugging Face directories of blocks of ours, which bring a program for transformers.

`test_remote_code_in_torch.py` runs that program with PyTorch. Here, stand-ins for both
libraries tell which weights it has.
"""

import importlib.util
import json
import sys
import types

import numpy as np
import pytest
from safetensors import numpy as safetensors

import albert_tf
from albert_tf import bundle
from albert_tf.config import GATED_ACTIVATIONS
from albert_tf.config import AlbertConfig
from albert_tf.errors import UserError
from albert_tf.families.albert_tf import OF_OTHERS
from albert_tf.models.albert import AlbertModel
from tests.models.block_reference import MODERN
from tests.models.block_reference import make

FILES = ("configuration_albert_tf", "modeling_albert_tf")


class Module:
    """Remembers its parts as `torch.nn.Module` does."""

    def __init__(self, *arguments, **options):
        self.parts = {}

    def __setattr__(self, name, value):
        if isinstance(value, (Module, np.ndarray)):
            self.parts[name] = value
        object.__setattr__(self, name, value)

    def shapes(self, prefix=""):
        found = {}
        for name, part in self.parts.items():
            if isinstance(part, Module):
                found |= part.shapes(f"{prefix}{name}.")
            else:
                found[prefix + name] = part.shape
        return found


def of_shapes(**shapes):
    """A module of arrays; those of shape None are left out."""
    module = Module()
    for name, shape in shapes.items():
        if shape is not None:
            setattr(module, name, np.zeros(shape))
    return module


def of_parts(parts=()):
    module = Module()
    module.parts = dict(parts if isinstance(parts, dict) else enumerate(parts))
    module.append = lambda part: module.parts.update({len(module.parts): part})
    return module


def linear(inputs, outputs, bias=True):
    return of_shapes(weight=(outputs, inputs), bias=(outputs,) if bias else None)


def embedding(num_embeddings, embedding_dim, padding_idx=None):
    return of_shapes(weight=(num_embeddings, embedding_dim))


def layer_norm(width, eps, bias=True):
    return of_shapes(weight=(width,), bias=(width,) if bias else None)


class PreTrainedModel(Module):
    def __init__(self, config):
        super().__init__()
        self.config = config

    def post_init(self):
        """Draws no weights."""


class PretrainedConfig:
    def __init__(self, **kwargs):
        self.num_labels = len(kwargs.get("id2label", "ab"))


@pytest.fixture
def programs(monkeypatch):
    """Imports the two files from a directory, with stand-ins for their libraries."""
    modules = {
        "Linear": linear,
        "Embedding": embedding,
        "LayerNorm": layer_norm,
        "ModuleDict": of_parts,
        "ModuleList": of_parts,
        "Module": Module,
        "Dropout": Module,
        "Identity": Module,
        "Parameter": lambda own: own,
    }
    functions = types.SimpleNamespace(gelu=abs, relu=abs, silu=abs)
    nn = types.SimpleNamespace(**modules, functional=functions)
    anything = type("Anything", (types.ModuleType,), {"__getattr__": lambda *_: None})
    stand_ins = {
        "torch": types.SimpleNamespace(nn=nn, zeros=lambda *s: np.zeros(s), tanh=abs),
        "torch.nn": nn,
        "transformers": types.SimpleNamespace(
            PreTrainedModel=PreTrainedModel, PretrainedConfig=PretrainedConfig
        ),
    }
    for name in ("modeling_outputs", "models.albert.modeling_albert"):
        stand_ins[f"transformers.{name}"] = anything(name)
    for name, module in stand_ins.items():
        monkeypatch.setitem(sys.modules, name, module)

    def load(folder):
        package = types.ModuleType("written")
        package.__path__ = [str(folder)]
        monkeypatch.setitem(sys.modules, "written", package)
        for name in FILES:
            place = (f"written.{name}", folder / f"{name}.py")
            spec = importlib.util.spec_from_file_location(*place)
            module = importlib.util.module_from_spec(spec)
            monkeypatch.setitem(sys.modules, spec.name, module)
            spec.loader.exec_module(module)
        return module

    return load


MODELS = [
    ("AlbertModel", {}, MODERN),
    ("AlbertModel", {}, {"norm": "pre", "parameter_sharing": "ffn"}),
    ("AlbertModel", {}, {**MODERN, "depth_adapter_rank": 3, "inner_group_num": 2}),
    ("AlbertModel", {}, {"depth_adapter_rank": 2, "parameter_sharing": "attention"}),
    ("AlbertForMaskedLM", {}, {"use_bias": False, "tie_word_embeddings": False}),
    ("AlbertForMaskedLM", {}, {"padding_idx": 1, "norm": "pre"}),
    ("AlbertModel", {}, {"padding_idx": 1, "type_vocab_size": 1}),  # with a mapping
    ("AlbertForPreTraining", {}, MODERN),
    ("AlbertForSequenceClassification", {"labels": "abc"}, MODERN),
    ("AlbertForTokenClassification", {"labels": "abcd"}, MODERN),
    ("AlbertForMultipleChoice", {}, MODERN),
    ("AlbertForQuestionAnswering", {}, MODERN),
]


@pytest.mark.parametrize(("name", "arguments", "changes"), MODELS)
def test_the_program_has_the_weights_and_the_model_comes_back(
    name, arguments, changes, tiny_config, programs, tmp_path
):
    config = tiny_config(**{"num_attention_heads": 2, **changes})
    model = make(config, getattr(albert_tf, name), **arguments)
    model.save_pretrained(tmp_path, format="huggingface")
    entries = json.loads((tmp_path / "config.json").read_text())
    found = programs(tmp_path)
    their_config = sys.modules["written.configuration_albert_tf"].AlbertTfConfig
    own = name.replace("Albert", "AlbertTf", 1)
    assert entries["architectures"] == [own]
    theirs = getattr(found, own)(their_config(**entries))
    tensors = safetensors.load_file(tmp_path / "model.safetensors")
    assert theirs.shapes() == {key: own.shape for key, own in tensors.items()}
    again = bundle.open(tmp_path).model()
    assert type(again) is type(model)
    assert (again.config, again.head_config()) == (model.config, model.head_config())
    variables = again.official_variables()
    for key, value in model.official_variables().items():
        if not key.startswith(tuple(model.unused_variables)):
            np.testing.assert_array_equal(variables[key], value)


@pytest.fixture
def of_pre_norm(tiny_config, tmp_path):
    """The entries of the config.json that a model of other blocks gets."""
    AlbertModel(tiny_config(norm="pre")).save_pretrained(tmp_path, format="huggingface")
    return json.loads((tmp_path / "config.json").read_text())


def test_the_configurations_have_the_same_fields_and_arithmetic(
    tiny_config, of_pre_norm, programs, tmp_path
):
    programs(tmp_path)
    written = sys.modules["written.configuration_albert_tf"]
    ours = AlbertConfig(vocab_size=9).to_dict()
    ours = {name: ours[name] for name in ours if name not in OF_OTHERS}
    dropout = {"classifier_dropout_prob": 0.1}
    assert {**ours, "vocab_size": None, **dropout} == written.FIELDS
    assert written.GATED_ACTIVATIONS == GATED_ACTIVATIONS
    for sharing in ("all", "attention", "ffn", "none"):
        sizes = {"num_hidden_layers": 5, "num_hidden_groups": 3}
        config = tiny_config(**sizes, parameter_sharing=sharing)
        theirs = written.AlbertTfConfig(**config.to_dict())
        expected = [
            tuple(int(key.split("_")[0]) for key in block)
            for (block,) in config.layer_schedule()
        ]
        assert theirs.layer_schedule() == expected
        assert theirs.head_act == config.head_act


@pytest.mark.parametrize(("padding_idx", "expected"), [(None, 0), (0, 0), (3, 3)])
def test_the_padding_token_is_written(padding_idx, expected, tiny_config, tmp_path):
    config = tiny_config(norm="pre", padding_idx=padding_idx)
    AlbertModel(config).save_pretrained(tmp_path, format="huggingface")
    entries = json.loads((tmp_path / "config.json").read_text())
    assert entries["pad_token_id"] == expected


def test_another_model_takes_the_program_away(tiny_config, tmp_path):
    for norm, are_there in (("pre", True), ("post", False), ("pre", True)):
        model = AlbertModel(tiny_config(norm=norm))
        model.save_pretrained(tmp_path, format="huggingface")
        files = {path.name for path in tmp_path.iterdir()}
        assert files.issuperset(f"{name}.py" for name in FILES) is are_there
    AlbertModel(tiny_config()).save_pretrained(tmp_path)
    assert not list(tmp_path.glob("*.py"))


def test_a_changed_directory_is_refused_and_its_program_never_run(
    of_pre_norm, tmp_path
):
    (tmp_path / "SHA256SUMS").unlink()
    for name in FILES:
        (tmp_path / f"{name}.py").write_text("raise SystemExit")
    assert bundle.open(tmp_path).model().config.norm == "pre"
    unnamed = {k: v for k, v in of_pre_norm.items() if k != "architectures"}
    (tmp_path / "config.json").write_text(json.dumps(unnamed))
    assert type(bundle.open(tmp_path).model()) is AlbertModel
    for name, value in (("norm", "sandwich"), ("rope_theta", 5.0)):
        entries = json.dumps({**of_pre_norm, name: value})
        (tmp_path / "config.json").write_text(entries)
        with pytest.raises(UserError, match=name):
            bundle.open(tmp_path)
