"""Shared fixtures: reference material, two virtual devices, a tiny pretraining run."""

import functools
import gc
import json
import os
import pathlib
import signal

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import hypothesis  # noqa: E402
import pytest  # noqa: E402

from tests import vocabularies  # noqa: E402
from tests import worker_processes  # noqa: E402
from tests.corpus import make_records  # noqa: E402
from tests.corpus import write_corpus  # noqa: E402
from tests.corpus import write_squad  # noqa: E402

# `python -m tools.fuzz` draws more; TensorFlow traces its graphs in the first example.
hypothesis.settings.register_profile(
    "suite",
    max_examples=40,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=list(hypothesis.HealthCheck),
)
hypothesis.settings.load_profile("suite")

pytest_plugins = ["tests.environment", "tests.installed", "tests.saved_models"]

PROJECT = pathlib.Path(__file__).resolve().parent.parent

# Programs that tests start have the packages that users have: TensorFlow and Keras
# import these others wherever they are, which takes a third of the time until a program
# begins.
os.environ["PYTHONPATH"] = os.pathsep.join(
    filter(None, [str(PROJECT / "tests" / "absent"), os.environ.get("PYTHONPATH")])
)


@pytest.fixture(scope="session")
def project():
    """The root folder of the project."""
    return PROJECT


@pytest.fixture(scope="session")
def shared():
    """Finds reference material beside the checkout, or skips the test."""

    def find(relative_path):
        path = PROJECT.parent / "shared" / relative_path
        if not path.exists():
            pytest.skip(f"reference material {relative_path} is not beside the project")
        return path

    return find


@pytest.fixture(scope="session")
def official_tokenizer(shared):
    """Loads an official tokenizer by the name of its folder."""
    from albert_tf.tokenization import load_tokenizer

    return lambda name: load_tokenizer(shared(f"data/vocab/{name}"))


@pytest.fixture(scope="session")
def english(official_tokenizer):
    return official_tokenizer("albert_en_30k")


@pytest.fixture(scope="session")
def chinese(official_tokenizer):
    return official_tokenizer("bert_chinese")


@pytest.fixture(scope="session")
def two_replicas():
    """The one MirroredStrategy of the test process, on two virtual CPU devices.

    A second one in the same process would number its collective operations like the
    first, and TensorFlow would mix them up ("Shape mismatch in the collective").
    """
    import tensorflow as tf

    devices = tf.config.list_logical_devices("CPU")
    strategy = tf.distribute.MirroredStrategy([device.name for device in devices])
    assert strategy.num_replicas_in_sync == 2
    return strategy


def pytest_configure(config):
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # As a shell leaves it for a command in the background. Programs that tests
        # start would inherit that, and Ctrl-C would not stop them.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if config.getoption("dist", "no") != "no" and not hasattr(config, "workerinput"):
        return  # This process only hands tests out; those that run them wait for it.

    import tensorflow as tf

    cpu = tf.config.list_physical_devices("CPU")[0]
    two = [tf.config.LogicalDeviceConfiguration()] * 2
    tf.config.set_logical_device_configuration(cpu, two)
    # Tracing makes many objects. What TensorFlow brought along stays, and to look
    # through it again and again would take one second in twenty.
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000)


@pytest.fixture(scope="session")
def tiny_config():
    """Makes a tiny `AlbertConfig` of unequal sizes; keyword arguments change it."""
    from albert_tf.config import AlbertConfig

    sizes = {
        "vocab_size": 37,
        "max_position_embeddings": 16,
        "num_hidden_layers": 4,
        "embedding_size": 6,
        "hidden_size": 12,
        "intermediate_size": 20,
        "num_attention_heads": 3,
        "initializer_range": 0.2,
    }
    return lambda **changes: AlbertConfig(**{**sizes, **changes})


@pytest.fixture(scope="session")
def xlnet_pieces():
    """Makes a SentencePiece model, bytes, of XLNet's special pieces and some words."""
    return vocabularies.xlnet_pieces


@pytest.fixture(scope="session")
def xlnet_tokenizer(xlnet_pieces):
    """A tokenizer of a few words whose vocabulary is XLNet's."""
    from albert_tf.tokenization.sentencepiece import SentencePieceTokenizer

    words = "a and bad film good is it not plot the very was"
    return SentencePieceTokenizer(xlnet_pieces(words))


@pytest.fixture(scope="session")
def xlnet_config(xlnet_tokenizer):
    """Makes a tiny `XLNetConfig` for that tokenizer; keyword arguments change it."""
    from albert_tf.xlnet.config import XLNetConfig

    sizes = {
        "d_model": 16,
        "n_layer": 2,
        "n_head": 2,
        "d_head": 4,
        "d_inner": 16,
        "n_token": xlnet_tokenizer.vocab_size,
    }
    return lambda **changes: XLNetConfig(**{**sizes, **changes})


@pytest.fixture(scope="session")
def vocabulary():
    """Makes the text of a WordPiece vocabulary: the special pieces, and these."""
    return vocabularies.wordpiece


@pytest.fixture
def tiny_features():
    """Features of two texts of 7 tokens for `tiny_config`; the second is padded."""
    import numpy as np

    random = np.random.default_rng(3)
    return {
        "input_ids": random.integers(0, 37, (2, 7), dtype="int32"),
        "input_mask": np.array([[1] * 7, [1] * 5 + [0] * 2], "int32"),
        "segment_ids": np.array([[0] * 3 + [1] * 4] * 2, "int32"),
        "masked_lm_positions": np.array([[1, 4, 6], [2, 3, 0]], "int32"),
    }


@pytest.fixture(scope="session")
def material(tmp_path_factory):
    """A corpus, its vocabulary, its records and a config to pretrain with."""
    folder = tmp_path_factory.mktemp("material")
    write_corpus(folder)
    make_records(folder, "data")
    config = {
        "vocab_size": 36,
        "max_position_embeddings": 16,
        "num_hidden_layers": 1,
        "embedding_size": 8,
        "hidden_size": 8,
        "intermediate_size": 16,
        "num_attention_heads": 2,
    }
    (folder / "config.json").write_text(json.dumps(config))
    return folder


@pytest.fixture(scope="session")
def packed(material):
    """Records of the same corpus, several pairs a row."""
    return make_records(material, "packed", short_seq_prob=1.0, pack=True)


@pytest.fixture(scope="session")
def short(material):
    """Records of the same corpus, half as long."""
    return make_records(material, "short", max_seq_length=8, max_predictions_per_seq=2)


@pytest.fixture(scope="session")
def dynamic(material):
    """Records of the same corpus, one segment each, masked in training."""
    options = {"masking": "dynamic", "sentence_objective": "none"}
    return make_records(material, "dynamic", **options)


@pytest.fixture(scope="session")
def streams(material):
    """Streams of the same corpus, both ways, and in xlnet.json an XLNet for them."""
    config = {
        "n_token": 36,
        "d_model": 8,
        "n_layer": 1,
        "n_head": 2,
        "d_head": 4,
        "d_inner": 16,
        "mem_len": 6,
        "reuse_len": 8,
        "initializer_range": 0.3,
    }
    (material / "xlnet.json").write_text(json.dumps(config))
    return make_records(material, "streams", objective="permutation_lm", bi_data=True)


@pytest.fixture
def flags(material, tmp_path):
    """Makes the command line of a short pretraining run."""

    def make(**changes):
        values = {
            "input_file": material / "data" / "train.tfrecord",
            "eval_file": material / "data" / "held_out" / "*.tfrecord",
            "spm_model_file": material / "vocab.model",
            "albert_config_file": material / "config.json",
            "output_dir": tmp_path / "model",
            "max_seq_length": 16,
            "max_predictions_per_seq": 3,
            "train_batch_size": 16,
            "learning_rate": 0.01,
            "num_train_steps": 12,
            "num_warmup_steps": 2,
            "iterations_per_loop": 4,
            "use_xla": False,
            **changes,
        }
        return [f"--{k}={v}" for k, v in values.items() if v is not None]

    return make


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """The folder of unpacked archives; downloads go past the machine's proxy."""
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("ALBERT_TF_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def workers(tmp_path):
    """Starts a script in two worker processes, killed at the end if need be."""
    return functools.partial(worker_processes.started, tmp_path)


@pytest.fixture
def lines(monkeypatch):
    """The lines that are logged."""
    from absl import logging

    logged = []
    monkeypatch.setattr(
        logging, "info", lambda form, *args: logged.extend((form % args).split("\n"))
    )
    return logged


@pytest.fixture
def squad(tmp_path):
    """Writes a file in SQuAD's layout: `write_squad` into the folder of the test."""
    return functools.partial(write_squad, tmp_path)
