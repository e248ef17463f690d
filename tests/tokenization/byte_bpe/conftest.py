"""A byte-level BPE that is trained in a second, and the one that RoBERTa came with."""

import json

import pytest
import tokenizers

from albert_tf.tokenization import load_tokenizer
from tests.vocabularies import byte_bpe


@pytest.fixture(scope="session")
def small_files(tmp_path_factory):
    """A folder of `vocab.json` and `merges.txt`, of 400 pieces."""
    folder = tmp_path_factory.mktemp("byte_bpe")
    byte_bpe(folder)
    return folder


@pytest.fixture(scope="session")
def small_bpe(small_files):
    return load_tokenizer(small_files)


@pytest.fixture(scope="session")
def roberta(shared):
    return load_tokenizer(shared("data/vocab/roberta"))


def peer(tokenizer, add_prefix_space=False):
    """The same tokenizer in the package tokenizers."""
    model = json.loads(tokenizer.file_bytes)["model"]
    merges = [tuple(pair) for pair in model["merges"]]
    theirs = tokenizers.Tokenizer(tokenizers.models.BPE(model["vocab"], merges))
    theirs.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(
        add_prefix_space=add_prefix_space
    )
    theirs.post_processor = tokenizers.processors.RobertaProcessing(
        ("</s>", 2), ("<s>", 0), add_prefix_space=add_prefix_space
    )
    theirs.decoder = tokenizers.decoders.ByteLevel()
    special = [tokenizers.AddedToken(t) for t in ("<s>", "<pad>", "</s>", "<unk>")]
    mask = tokenizers.AddedToken("<mask>", lstrip=True)
    theirs.add_special_tokens([*special, mask])
    return theirs
