"""Tiny models with random weights, of every family and task, and their exports.

Each is made once a session and shared by all tests, so that nobody may write into its
folder: a test that writes works on a copy (`shutil.copytree`).
"""

import functools
import types

import numpy as np
import pytest

from tests.vocabularies import byte_bpe
from tests.vocabularies import deberta_pieces
from tests.vocabularies import modern_bpe
from tests.vocabularies import xlm_pieces

_WORDS = "the a film plot was is and good bad very not it one . , ##s ##ing"
_TAGS = ("O", "B-A", "I-A", "B-B", "I-B")
_WINDOWS = {"doc_stride": 5, "max_query_length": 6}
# By kind: the kind of its task, the task's fields, and the tokens of the longest row.
_TASKS = {
    "classification": ("single_label", {"labels": ("no", "yes")}, 24),
    "pairs": ("single_label", {"labels": ("no", "so", "yes"), "pair": True}, 24),
    "regression": ("regression", {}, 24),
    "multi_label": ("multi_label", {"labels": ("好", "坏", "plain")}, 24),
    "similarity": ("similarity", {}, 24),
    "tagging": ("tagging", {"labels": _TAGS, "doc_stride": 4}, 12),
    "question_answering": (
        "squad_v1",
        {**_WINDOWS, "n_best_size": 6, "max_answer_length": 4},
        20,
    ),
    "answerable_questions": (
        "squad_v2",
        {**_WINDOWS, "n_best_size": 8, "start_n_top": 4, "end_n_top": 6},
        20,
    ),
    "multiple_choice": ("multiple_choice", {"max_qa_length": 7}, 20),
}
# By kind: how many times as large a head's weights are, so that answers differ visibly.
_LOUD = {
    "tagging": 30,
    "question_answering": 5,
    "answerable_questions": 2,
    "multiple_choice": 60,
}
# The models of no task, by kind: of ALBERT's kind, and of XLNet's.
_OF_BERT = ("bert", "distilbert", "electra")  # with BERT's vocabulary
_PRETRAINED = {
    "encoder": ("AlbertModel", "XLNetModel"),
    "pretraining": ("AlbertForPreTraining", "XLNetLMHeadModel"),
}
KINDS = (*_TASKS, *_PRETRAINED)
# How families write the files of their tokenizers, where that is no `vocab.txt`.
_PIECES = {
    "roberta": byte_bpe,
    "modernbert": modern_bpe,
    "xlm-roberta": xlm_pieces,
    "deberta-v2": deberta_pieces,
}
# Smaller hidden sizes are not quantized by TensorFlow Lite.
_SIZES = {
    "embedding_size": 8,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "max_position_embeddings": 32,
    "initializer_range": 0.3,
}
_UNSHARED = {
    "embedding_size": 32,
    "num_hidden_layers": 2,
    "hidden_act": "gelu_erf",
    "parameter_sharing": "none",
}
_OF_ROBERTA = {**_UNSHARED, "type_vocab_size": 1, "padding_idx": 1}
_UNTYPED = {**_UNSHARED, "type_vocab_size": 0}
# What other families have other than ALBERT in their configurations.
_FAMILIES = {
    "albert": {},
    "bert": _UNSHARED,
    "roberta": _OF_ROBERTA,
    "modernbert": {
        **_UNTYPED,
        "hidden_act": "geglu_erf",
        "pooler_act": "gelu_erf",
        "pooler_norm": True,
        "layer_norm_eps": 1e-5,
        "norm": "pre",
        "norms_first_input": False,
        "position_embedding_type": "rotary",
        "rotary_base": 160_000.0,
        "local_attention_window": 8,
        "global_attention_every": 2,
        "unbiased": ("attention", "feed_forward", "norm", "head"),
        "pooled_tokens": "mean",
    },
    "distilbert": {**_UNTYPED, "pooler_act": "relu"},
    "electra": {**_UNSHARED, "embedding_size": 16, "pooler_act": "gelu_erf"},
    "xlm-roberta": {**_OF_ROBERTA, "is_xlm": True},
    "deberta-v2": {
        **_UNTYPED,
        "position_embedding_type": "disentangled",
        "position_buckets": 8,
        "layer_norm_eps": 1e-7,
        "pooler_act": "gelu_erf",
    },
}


def assert_same_weights(found, expected, names=None):
    """Compares the official variables of two models: all, or those named."""
    variables, others = found.official_variables(), expected.official_variables()
    if names is None:
        names = list(others)
        assert list(variables) == names
    for name in names:
        np.testing.assert_array_equal(variables[name], others[name], name)


@pytest.fixture(scope="session")
def family_config():
    """Makes the configuration of a tiny model of a family, for a tokenizer."""
    from albert_tf.config import AlbertConfig
    from albert_tf.xlnet.config import XLNetConfig

    def make(family, tokenizer, **changes):
        if family == "xlnet":
            sizes = {
                "d_model": 32,
                "n_layer": 1,
                "n_head": 2,
                "d_head": 16,
                "d_inner": 64,
                "n_token": tokenizer.vocab_size,
            }
            return XLNetConfig(**{**sizes, "initializer_range": 0.3, **changes})
        sizes = {**_SIZES, **_FAMILIES[family], "vocab_size": tokenizer.vocab_size}
        return AlbertConfig(**{**sizes, **changes})

    return make


@pytest.fixture(scope="session")
def family_tokenizer(tmp_path_factory, vocabulary, request):
    """Returns a family's tokenizer of a few English words."""
    from albert_tf.tokenization import load_tokenizer

    @functools.cache
    def make(family):
        if family == "xlnet":
            return request.getfixturevalue("xlnet_tokenizer")
        folder = tmp_path_factory.mktemp("vocabulary")
        if family in _PIECES:
            _PIECES[family](folder)
        else:
            (folder / "vocab.txt").write_text(vocabulary(_WORDS.split()))
        return load_tokenizer(folder)

    return lambda family="albert": make("albert" if family in _OF_BERT else family)


@pytest.fixture(scope="session")
def saved_model(tmp_path_factory, family_config, family_tokenizer):
    """Returns the folder of a tiny model.

    Its kind is one of `KINDS`; its family is "albert", "xlnet" or of `_FAMILIES`.
    """

    @functools.cache
    def saved(kind, family="albert"):
        from albert_tf.families.registry import model_class
        from albert_tf.models.base import seeded
        from albert_tf.tasks.registry import create_task

        tokenizer = family_tokenizer(family)
        names = _PRETRAINED.get(kind, _PRETRAINED["encoder"])
        made, info, arguments = model_class(names[family == "xlnet"]), {}, {}
        if kind in _TASKS:
            task_kind, fields, length = _TASKS[kind]
            task = create_task(task_kind, "custom", **fields)
            made, arguments = task.model_classes()[made.family], task.model_arguments()
            info = {"task": task.to_dict(), "max_seq_length": length}
        folder = tmp_path_factory.mktemp(f"{family}-{kind}") / "model"
        with seeded(5):
            model = made(family_config(family, tokenizer), **arguments)
        variables = model.official_variables()
        for head in map(variables.get, made.head_names() if kind in _LOUD else ()):
            head.assign(head * _LOUD[kind])
        model.save_pretrained(folder, tokenizer, info)
        return folder

    return saved


@pytest.fixture(scope="session")
def export_of(saved_model, tmp_path_factory):
    """Returns the folder of a version of `saved_model(kind)`, exported with options."""

    @functools.cache
    def exported(kind, family="albert", **options):
        from albert_tf.serving.export import ExportOptions
        from albert_tf.serving.export import export

        target = tmp_path_factory.mktemp("export") / kind
        source = str(saved_model(kind, family))
        return export(ExportOptions(source, str(target), **options))

    return exported


@pytest.fixture(scope="session")
def opened(saved_model):
    """Loads the model, tokenizer and task of `saved_model(kind)`, with its `folder`.

    Each is another object at every call, so that a test may change it.
    """

    def read(kind, family="albert"):
        from albert_tf import bundle
        from albert_tf.tasks.registry import read_task

        folder = saved_model(kind, family)
        files = bundle.open(folder)
        return types.SimpleNamespace(
            folder=folder,
            model=files.model(),
            tokenizer=files.tokenizer(),
            task=read_task(files),
            length=files.info.get("max_seq_length"),
        )

    return read
