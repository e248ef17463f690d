"""A tiny pretrained model."""

import keras
import pytest

import albert_tf

_SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
_PIECES = [*_SPECIAL, "good", "bad", "film", "plot", "好", "it", "is"]


@pytest.fixture(scope="session")
def pretrained(tmp_path_factory):
    """A folder with a random encoder and its vocabulary."""
    folder = tmp_path_factory.mktemp("pretrained")
    (folder / "vocab.txt").write_text("\n".join(_PIECES) + "\n")
    config = albert_tf.AlbertConfig(
        vocab_size=len(_PIECES),
        embedding_size=8,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=32,
        initializer_range=0.2,
    )
    keras.utils.set_random_seed(1)
    tokenizer = albert_tf.load_tokenizer(folder / "vocab.txt")
    albert_tf.AlbertModel(config).save_pretrained(folder, tokenizer)
    return folder
