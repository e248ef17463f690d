"""Hugging Face directories of blocks of ours, which bring a program for transformers.

`test_remote_code_in_torch.py` runs that program with PyTorch. Here, stand-ins for both
libraries tell which weights it has.
"""

import importlib.util
import json
import pathlib
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


class Linear(Module):
    def __init__(self, inputs, outputs, bias=True):
        super().__init__()
        self.weight = np.zeros((outputs, inputs))
        if bias:
            self.bias = np.zeros(outputs)


class Embedding(Module):
    def __init__(self, num_embeddings, embedding_dim, padding_idx=None):
        super().__init__()
        self.weight = np.zeros((num_embeddings, embedding_dim))


class LayerNorm(Module):
    def __init__(self, width, eps, bias=True):
        super().__init__()
        self.weight = np.zeros(width)
        if bias:
            self.bias = np.zeros(width)


class ModuleDict(Module):
    def __init__(self, parts):
        super().__init__()
        self.parts = dict(parts)


class ModuleList(Module):
    def __init__(self, parts=()):
        super().__init__()
        self.parts = {str(i): part for i, part in enumerate(parts)}

    def append(self, part):
        self.parts[str(len(self.parts))] = part


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
    names = ("Dropout", "Identity")
    nn = types.SimpleNamespace(
        **dict.fromkeys(names, Module),
        **{own.__name__: own for own in (Embedding, LayerNorm, Linear, Module)},
        **{own.__name__: own for own in (ModuleDict, ModuleList)},
        Parameter=lambda values: values,
        functional=types.SimpleNamespace(
            **dict.fromkeys(("gelu", "relu", "silu"), abs)
        ),
    )
    outputs = "transformers.modeling_outputs"
    albert = "transformers.models.albert.modeling_albert"
    anything = type("Anything", (types.ModuleType,), {"__getattr__": lambda *_: None})
    stand_ins = {
        "torch": types.SimpleNamespace(nn=nn, zeros=lambda *s: np.zeros(s), tanh=abs),
        "torch.nn": nn,
        "transformers": types.SimpleNamespace(
            PreTrainedModel=PreTrainedModel, PretrainedConfig=PretrainedConfig
        ),
        outputs: anything(outputs),
        albert: anything(albert),
    }
    for name, module in stand_ins.items():
        monkeypatch.setitem(sys.modules, name, module)

    def load(folder):
        package = types.ModuleType("written")
        package.__path__ = [str(folder)]
        monkeypatch.setitem(sys.modules, "written", package)
        for name in FILES:
            spec = importlib.util.spec_from_file_location(
                f"written.{name}", folder / f"{name}.py"
            )
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
def test_the_program_has_the_weights(
    name, arguments, changes, tiny_config, programs, tmp_path
):
    config = tiny_config(**{"num_attention_heads": 2, **changes})
    model = make(config, getattr(albert_tf, name), **arguments)
    model.save_pretrained(tmp_path, format="huggingface")
    entries = json.loads((tmp_path / "config.json").read_text())
    found = programs(tmp_path)
    their_config = sys.modules["written.configuration_albert_tf"].AlbertTfConfig
    (architecture,) = entries["architectures"]
    own = name.replace("Albert", "AlbertTf", 1)
    assert architecture == own
    theirs = getattr(found, own)(their_config(**entries))
    tensors = safetensors.load_file(tmp_path / "model.safetensors")
    assert theirs.shapes() == {key: own.shape for key, own in tensors.items()}


def test_what_a_directory_names_is_there(tiny_config, programs, tmp_path):
    AlbertModel(tiny_config(norm="pre")).save_pretrained(tmp_path, format="huggingface")
    entries = json.loads((tmp_path / "config.json").read_text())
    found = programs(tmp_path)
    for auto, place in entries["auto_map"].items():
        module, name = place.split(".")
        own = getattr(sys.modules[f"written.{module}"], name)
        assert auto == "AutoConfig" or own.config_class.model_type == "albert_tf"
    assert entries["model_type"] == "albert_tf"
    listed = (tmp_path / "SHA256SUMS").read_text()
    assert all(f"  {name}.py\n" in listed for name in FILES)
    assert found.AlbertTfConfig.__module__ == "written.configuration_albert_tf"


def test_the_configurations_have_the_same_fields_and_arithmetic(
    tiny_config, programs, tmp_path
):
    AlbertModel(tiny_config(norm="pre")).save_pretrained(tmp_path, format="huggingface")
    programs(tmp_path)
    written = sys.modules["written.configuration_albert_tf"]
    ours = AlbertConfig(vocab_size=9).to_dict()
    ours = {name: ours[name] for name in ours if name not in OF_OTHERS}
    dropout = {"classifier_dropout_prob": 0.1}
    assert {**ours, "vocab_size": None, **dropout} == written.FIELDS
    assert written.GATED_ACTIVATIONS == GATED_ACTIVATIONS
    for sharing in ("all", "attention", "ffn", "none"):
        config = tiny_config(
            num_hidden_layers=5, num_hidden_groups=3, parameter_sharing=sharing
        )
        theirs = written.AlbertTfConfig(**config.to_dict())
        expected = [
            tuple(int(key.split("_")[0]) for key in block)
            for (block,) in config.layer_schedule()
        ]
        assert theirs.layer_schedule() == expected
        assert theirs.head_act == config.head_act


@pytest.mark.parametrize(("name", "arguments", "changes"), MODELS)
def test_round_trip(name, arguments, changes, tiny_config, tmp_path):
    config = tiny_config(**{"num_attention_heads": 2, **changes})
    model = make(config, getattr(albert_tf, name), **arguments)
    model.save_pretrained(tmp_path, format="huggingface")
    again = bundle.open(tmp_path).model()
    assert type(again) is type(model)
    assert (again.config, again.head_config()) == (model.config, model.head_config())
    variables = again.official_variables()
    for key, value in model.official_variables().items():
        if not key.startswith(tuple(model.unused_variables)):
            np.testing.assert_array_equal(variables[key], value)


def test_another_model_takes_the_program_away(tiny_config, tmp_path):
    for norm, are_there in (("pre", True), ("post", False), ("pre", True)):
        AlbertModel(tiny_config(norm=norm)).save_pretrained(
            tmp_path, format="huggingface"
        )
        files = {path.name for path in tmp_path.iterdir()}
        assert files.issuperset(f"{name}.py" for name in FILES) is are_there
    AlbertModel(tiny_config()).save_pretrained(tmp_path)
    assert not list(tmp_path.glob("*.py"))


def test_settings_that_no_program_of_ours_has(tiny_config, tmp_path):
    AlbertModel(tiny_config(norm="pre")).save_pretrained(tmp_path, format="huggingface")
    path = tmp_path / "config.json"
    (tmp_path / "SHA256SUMS").unlink()
    entries = json.loads(path.read_text())
    for change, message in (
        ({"norm": "sandwich"}, "norm"),
        ({"rope_theta": 5.0}, "rope_theta"),
    ):
        path.write_text(json.dumps({**entries, **change}))
        with pytest.raises(UserError, match=message):
            bundle.open(tmp_path)


def test_the_program_is_never_run_here(tiny_config, tmp_path):
    AlbertModel(tiny_config(norm="pre")).save_pretrained(tmp_path, format="huggingface")
    for name in FILES:
        pathlib.Path(tmp_path, f"{name}.py").write_text("raise SystemExit")
    (tmp_path / "SHA256SUMS").unlink()
    assert bundle.open(tmp_path).model().config.norm == "pre"
