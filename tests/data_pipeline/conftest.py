"""A small corpus and a tokenizer trained on it."""

import functools
import hashlib
import json
import random
import shutil
import types

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.tokenization import load_tokenizer
from data_pipeline.create_pretraining_data import create_pretraining_data
from data_pipeline.input_pipeline import pretraining_dataset
from data_pipeline.options import DataOptions
from data_pipeline.records import dataset_info
from data_pipeline.train_tokenizer import TokenizerOptions
from data_pipeline.train_tokenizer import train_tokenizer

TEXT = (
    "the a cat dog bird fish sat ran flew swam on over under mat house river tree and "
    "but then slowly quickly happily barking singing jumping unhappily 12 345 red blue"
)


@pytest.fixture(scope="session")
def corpus_file(tmp_path_factory):
    """120 random documents of two to twelve sentences, a sentence a line."""
    rng, lines = random.Random(0), []
    for _ in range(120):
        for _ in range(rng.randint(2, 12)):
            words = rng.choices(TEXT.split(), k=rng.randint(3, 12))
            lines.append(" ".join(words).capitalize() + ".")
        lines.append("")
    path = tmp_path_factory.mktemp("corpus") / "corpus.txt"
    path.write_text("\n".join(lines))
    return path


@pytest.fixture(scope="session")
def model_file(tmp_path_factory, corpus_file):
    """A SentencePiece model of the corpus."""
    prefix = str(tmp_path_factory.mktemp("vocabulary") / "small")
    named = {"input_file": str(corpus_file), "output_prefix": prefix}
    train_tokenizer(TokenizerOptions(**named, vocab_size=55, like="official"))
    return f"{prefix}.model"


@pytest.fixture(scope="session")
def tokenizer(model_file):
    return load_tokenizer(model_file)


@pytest.fixture(scope="session")
def options_in(corpus_file, model_file):
    """Makes options for a quick run whose data goes to a folder."""

    def make(folder, **changes):
        values = {
            "input_file": str(corpus_file),
            "spm_model_file": model_file,
            "output_file": str(folder / "x.tfrecord"),
            "workers": 1,
        }
        return DataOptions(
            **{**values, "max_seq_length": 32, "dupe_factor": 2, **changes}
        )

    return make


@pytest.fixture
def out(tmp_path):
    """The folder that `make_options` writes to."""
    return tmp_path / "out"


@pytest.fixture
def make_options(options_in, out):
    """Makes options for a quick run; arguments change them."""
    return functools.partial(options_in, out)


@pytest.fixture
def create(make_options, out):
    """Makes data in `out`: its `info`, `records` and `tokenizer`."""

    def make(**changes):
        options = make_options(**changes)
        create_pretraining_data(options)
        paths = sorted(out.glob("*.tfrecord"))
        info = dataset_info.read(out)
        records = [example for path in paths for example in _examples(path)]
        return types.SimpleNamespace(
            info=info, records=records, tokenizer=options.tokenizer
        )

    return make


@pytest.fixture(scope="session")
def made(tmp_path_factory, options_in):
    """Makes data with some options, once a session, in a folder that nobody changes."""
    folders = {}

    def make(**changes):
        key = json.dumps(changes, sort_keys=True)
        if key not in folders:
            folders[key] = tmp_path_factory.mktemp("made")
            create_pretraining_data(options_in(folders[key], **changes))
        return folders[key]

    return make


@pytest.fixture
def make_dataset(made, tokenizer, tmp_path):
    """Reads a copy of data of a kind, in a folder of that name."""

    def make(kind="static", **changes):
        folder = tmp_path / kind
        if not folder.exists():
            shutil.copytree(made(masking=kind, num_shards=2, dupe_factor=1), folder)
        arguments = {
            "input_file": f"{folder}/x-*",
            "tokenizer": tokenizer,
            "max_seq_length": 32,
            "max_predictions_per_seq": 5,
            "seed": 1,
        }
        return pretraining_dataset(
            **{**arguments, "batch_size": 8, "training": True, **changes}
        )

    return make


@pytest.fixture(scope="session")
def count():
    """Counts the sequences of a dataset."""
    return lambda dataset: sum(len(batch["input_ids"]) for batch in dataset)


@pytest.fixture(scope="session")
def examples():
    """Yields the features of the records of a file: examples(path)."""
    return _examples


def _examples(path):
    records = tf.data.TFRecordDataset(str(path), buffer_size=2**16)
    for record in records.as_numpy_iterator():
        features = tf.train.Example.FromString(record).features.feature
        lists = {n: getattr(f, f.WhichOneof("kind")) for n, f in features.items()}
        yield {name: np.array(found.value) for name, found in lists.items()}


@pytest.fixture(scope="session")
def digests():
    """Name to digest of the files in a folder: digests(folder)."""
    return lambda folder: {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
