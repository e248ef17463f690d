"""A small corpus with persons and places, and a complete tiny task, run by flags."""

import random

import pytest

from albert_tf.tasks.tagging.flags import TaggingOptions
from albert_tf.tokenization.wordpiece import WordPieceTokenizer

_PERSONS = ["ada", "alan", "grace", "kurt"]
_PLACES = ["paris", "oslo", "new york", "北 京"]
_OTHERS = ["the", "a", "went", "to", "in", "saw", "met", "of", "我", "在"]
# "kurt" and "york" have two pieces each.
_PIECES = ["ada", "alan", "grace", "ku", "##rt", "paris", "oslo", "new", "yo", "##rk"]
_PIECES += ["北", "京", *_OTHERS, ".", ","]


@pytest.fixture(scope="session")
def words(vocabulary):
    """A WordPiece tokenizer of the corpus."""
    return WordPieceTokenizer(vocabulary(_PIECES).encode())


@pytest.fixture
def make_sentences():
    """Makes sentences, lists of (word, tag in IOB2)."""

    def make(count, seed):
        chance = random.Random(seed)
        return [
            [pair for _ in range(chance.randint(2, 8)) for pair in _phrase(chance)]
            for _ in range(count)
        ]

    return make


def _phrase(chance):
    kind = chance.choice(["PER", "LOC", "O", "O", "O"])
    if kind == "O":
        return [(chance.choice(_OTHERS), "O")]
    names = chance.choice(_PERSONS if kind == "PER" else _PLACES).split()
    tags = [f"B-{kind}"] + [f"I-{kind}"] * (len(names) - 1)
    return list(zip(names, tags, strict=True))


@pytest.fixture
def write_conll(tmp_path):
    """Writes sentences to a file of the folder `data`, with two columns between."""

    def write(name, sentences, with_tags=True):
        lines = ["-DOCSTART- -X- -X- O", ""]
        for sentence in sentences:
            lines += [f"{w} X X {t}" if with_tags else w for w, t in sentence] + [""]
        path = tmp_path / "data" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("\n".join(lines) + "\n", "utf-8")
        return path

    return write


@pytest.fixture
def data_dir(make_sentences, write_conll):
    """The folder of three files."""
    for seed, (role, count) in enumerate((("train", 96), ("dev", 24), ("test", 12))):
        path = write_conll(f"{role}.conll", make_sentences(count, seed))
    return path.parent


@pytest.fixture
def flags(data_dir, tiny_model, command):
    """Runs the command with flags; the defaults are a complete tiny task."""
    return command(
        TaggingOptions,
        data_dir=data_dir,
        **tiny_model(_PIECES),
        max_seq_length=12,
        doc_stride=5,
        train_batch_size=16,
        train_step=60,
        save_checkpoints_steps=30,
        learning_rate=1e-2,
        dropout_prob=0,
    )
