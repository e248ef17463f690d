"""A complete tiny task: pairs that name the same thing, run by flags."""

import random

import pytest

from albert_tf.tasks.similarity.flags import SimilarityOptions

THINGS = ["sun", "moon", "star", "mud", "dust", "sand", "clay", "rock"]
_OTHER_WORDS = ["the", "a", "is", "and", "very", "not", "it"]
_PIECES = [*THINGS, *_OTHER_WORDS, "."]


def sentence(chance, thing):
    """Returns a text of some words, one of which is the thing."""
    words = chance.choices(_OTHER_WORDS, k=3)
    words.insert(chance.randrange(4), thing)
    return " ".join(words)


def pairs(count, seed):
    """Rows of two texts on one thing, and one on another."""
    chance, rows = random.Random(seed), []
    for _ in range(count):
        thing, other = chance.sample(THINGS, 2)
        rows.append([sentence(chance, own) for own in (thing, thing, other)])
    return rows


def scored(count, seed):
    """Rows of two texts, and whether they are on one thing."""
    chance = random.Random(seed)
    rows = pairs(count, seed)
    return [
        [a, b, "1.0"] if chance.random() < 0.5 else [a, c, "0.25"] for a, b, c in rows
    ]


@pytest.fixture
def write(tmp_path):
    """Writes a table into the folder `data`."""

    def write_table(name, header, rows):
        path = tmp_path / "data" / name
        path.parent.mkdir(exist_ok=True)
        lines = ["\t".join(row) for row in ([*header], *rows)]
        path.write_text("\n".join(lines) + "\n")
        return path

    return write_table


@pytest.fixture
def defaults(tmp_path, tiny_model):
    """The flags of a short run on the folder `data`."""
    return {
        "data_dir": tmp_path / "data",
        **tiny_model(_PIECES),
        "max_seq_length": 8,
        "train_batch_size": 16,
        "train_step": 40,
        "save_checkpoints_steps": 20,
        "learning_rate": 1e-2,
    }


@pytest.fixture
def flags(command, defaults):
    """Runs the command with flags; see `defaults`."""
    return command(SimilarityOptions, **defaults)
