"""A tiny vocabulary, tiny models, and their served forms."""

import dataclasses
import json
import types

import pytest

from albert_tf.config import AlbertConfig
from albert_tf.models.classification import AlbertForSequenceClassification
from albert_tf.models.pretraining import AlbertForPreTraining
from albert_tf.serving.export import ExportOptions
from albert_tf.serving.export import export
from albert_tf.tasks.registry import create_task
from albert_tf.tokenization import load_tokenizer

_PIECES = (
    "[PAD] [UNK] [CLS] [SEP] [MASK] the a film plot was is and good bad very not it "
    "one . , ##s ##ing"
)
_LENGTH = 24


@pytest.fixture(scope="session")
def tiny_tokenizer(tmp_path_factory):
    path = tmp_path_factory.mktemp("vocab") / "vocab.txt"
    path.write_text(_PIECES.replace(" ", "\n") + "\n")
    return load_tokenizer(path)


@pytest.fixture(scope="session")
def served_config():
    """Makes the configuration of a tiny model with a tokenizer's vocabulary."""

    def make(tokenizer, **changes):
        sizes = {
            "embedding_size": 8,
            "hidden_size": 32,  # smaller weights are not quantized by TensorFlow Lite
            "num_hidden_layers": 1,
            "num_attention_heads": 2,
            "intermediate_size": 64,
            "max_position_embeddings": 32,
        }
        values = {"vocab_size": tokenizer.vocab_size, **sizes, **changes}
        return AlbertConfig(**values)

    return make


@pytest.fixture(scope="session")
def exported(tmp_path_factory, served_config):
    """Saves and exports a tiny random model: (model, tokenizer, task, directory)."""

    def build(tokenizer, task=None, serve="auto"):
        # So that different inputs differ visibly.
        config = served_config(tokenizer, num_hidden_layers=2, initializer_range=0.3)
        info = {"max_seq_length": _LENGTH}
        if task is None:
            model = AlbertForPreTraining(config)
        else:
            model = AlbertForSequenceClassification(config, task.num_outputs)
            info["task"] = task.to_dict()
        directory = tmp_path_factory.mktemp("model")
        model.save_pretrained(directory, tokenizer, info)
        target = directory / "served"
        version = export(ExportOptions(str(directory), str(target), task=serve))
        return types.SimpleNamespace(
            model=model,
            tokenizer=tokenizer,
            task=task,
            length=_LENGTH,
            model_dir=directory,
            export_dir=target,
            version=version,
            description=json.loads((version / "signature.json").read_text()),
        )

    return build


@pytest.fixture(scope="session")
def exported_with(tmp_path_factory):
    """Exports a model once more, with other options; each combination once."""
    versions = {}

    def build(served, **options):
        key = (served.version, *sorted(options.items()))
        if key not in versions:
            target = tmp_path_factory.mktemp("exports") / "m"
            chosen = ExportOptions(str(served.model_dir), str(target))
            versions[key] = export(dataclasses.replace(chosen, **options))
        return versions[key]

    return build


@pytest.fixture(scope="session")
def classifier(exported, tiny_tokenizer):
    return exported(
        tiny_tokenizer, create_task("single_label", "t", labels=("no", "yes"))
    )


@pytest.fixture(scope="session")
def pair_classifier(exported, tiny_tokenizer):
    task = create_task("single_label", "t", labels=("no", "so", "yes"), pair=True)
    return exported(tiny_tokenizer, task)


@pytest.fixture(scope="session")
def encoder(exported, tiny_tokenizer):
    return exported(tiny_tokenizer)


@pytest.fixture(scope="session")
def masked_lm(exported, tiny_tokenizer):
    return exported(tiny_tokenizer, serve="masked_lm")
