"""A tiny pretrained model with its vocabulary."""

import pytest

from albert_tf.models.pretraining import AlbertForPreTraining
from albert_tf.tokenization.wordpiece import WordPieceTokenizer

PIECES = [
    *("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"),
    *("the", "film", "is", "good", "bad", "and", "long", "."),
]


@pytest.fixture(scope="session")
def model_dir(tiny_config, tmp_path_factory):
    directory = tmp_path_factory.mktemp("model")
    tokenizer = WordPieceTokenizer("\n".join(PIECES).encode(), True)
    # The model has more rows than the vocabulary, as released ones do.
    sizes = {"vocab_size": len(PIECES) + 3, "num_hidden_layers": 2}
    model = AlbertForPreTraining(tiny_config(**sizes))
    model.save_pretrained(directory, tokenizer)
    return directory
