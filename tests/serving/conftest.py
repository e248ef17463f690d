"""Tiny models with their exports, and exports that write no files."""

import functools
import json
import types

import pytest

from albert_tf import bundle
from albert_tf.serving import writing
from albert_tf.serving.export import main
from albert_tf.serving.inputs import outputs_of
from albert_tf.serving.loading import build_module
from albert_tf.serving.versions import numbered_versions


@pytest.fixture(scope="session")
def tiny_tokenizer(family_tokenizer):
    return family_tokenizer("albert")


@pytest.fixture(scope="session")
def exported(opened, export_of):
    """Opens a tiny model with its export; see `saved_model`."""

    @functools.cache
    def load(kind, **options):
        served = opened(kind)
        served.version = export_of(kind, **options)
        text = (served.version / "signature.json").read_text()
        served.description = json.loads(text)
        served.length = served.description["max_seq_length"]
        return served

    return load


@pytest.fixture(scope="session")
def classifier(exported):
    return exported("classification")


@pytest.fixture(scope="session")
def answering(saved_model):
    """Makes a function from a list of texts to the arrays of a `ServingModule`.

    It is built with options, as an export is, but not written and read again.
    """

    @functools.cache
    def make(kind, family="albert", **options):
        folder = saved_model(kind, family)
        module, _, _ = build_module([bundle.open(folder)], **options)
        signature = module.text_signature()

        def answer(texts, batch_size=32):
            columns = {"text": [text.encode() for text in texts]}
            return outputs_of(signature, columns, batch_size)

        return answer

    return make


@pytest.fixture
def planned(monkeypatch, tmp_path):
    """Makes a function from flags to what the command would write, and where.

    Returns a namespace of `module`, `served`, `facts` and `version`, an empty folder.
    """

    def plan(model_dir, *flags):
        def keep(folder, module, served, facts, compiled):
            found.update(module=module, served=served, facts=facts)

        found = {}
        monkeypatch.setattr(writing, "_save", lambda *arguments: None)
        monkeypatch.setattr(writing, "_describe", keep)
        folder = tmp_path / "m"
        main(["", f"--model_dir={model_dir}", f"--export_dir={folder}", *flags])
        versions = numbered_versions(folder)
        return types.SimpleNamespace(version=versions[max(versions)], **found)

    return plan
