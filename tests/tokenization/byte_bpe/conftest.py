"""The byte-level BPE that RoBERTa came with, and a peer of any."""

import json

import pytest
import tokenizers

from albert_tf.tokenization import load_tokenizer


@pytest.fixture(scope="session")
def roberta(shared):
    return load_tokenizer(shared("data/vocab/roberta"))


def peer(tokenizer, add_prefix_space=False):
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
