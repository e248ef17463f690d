"""A complete tiny fine-tuning task, run by flags."""

import random

import pytest

from albert_tf.cli.command_line import parse
from albert_tf.tasks.classification.flags import ClassifierOptions
from albert_tf.tasks.classification.run import classify

_OTHER_WORDS = ["the", "a", "film", "plot", "was", "is", "and", "very", "not", "it"]
_PIECES = ["good", "bad", *_OTHER_WORDS]


@pytest.fixture
def flags(command_line, tmp_path):
    """Runs the command with flags; the defaults are a complete tiny task."""

    def run(**changes):
        argv = ["run_classifier.py", *command_line(**changes)]
        classify(parse(ClassifierOptions, argv))
        return tmp_path / "out"

    return run


@pytest.fixture
def command_line(tmp_path, vocabulary, tiny_config):
    """Makes the command line of a complete tiny task."""
    vocab = tmp_path / "vocab.txt"
    vocab.write_text(vocabulary(_PIECES))
    config = tmp_path / "tiny.json"
    tiny_config(
        vocab_size=5 + len(_PIECES),
        embedding_size=8,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=32,
        initializer_range=0.02,
    ).to_json_file(config)
    data = tmp_path / "data"
    data.mkdir()
    for name, rows in (("train", 64), ("dev", 20), ("test", 20)):
        _write_table(data / f"{name}.tsv", rows, seed=rows + len(name))
    defaults = {
        "task_name": "custom",
        "data_dir": data,
        "output_dir": tmp_path / "out",
        "from_scratch": True,
        "albert_config_file": config,
        "vocab_file": vocab,
        "max_seq_length": 16,
        "train_batch_size": 16,
        "train_step": 60,
        "save_checkpoints_steps": 30,
        "learning_rate": 5e-3,
        "use_xla": False,
    }

    def make(**changes):
        values = {**defaults, **changes}
        return [f"--{k}={v}" for k, v in values.items() if v is not None]

    return make


def _write_table(path, rows, seed):
    """`good` or `bad` among other words decides the label."""
    chance = random.Random(seed)
    lines = ["label\tsentence"]
    for _ in range(rows):
        label = chance.choice(["good", "bad"])
        words = chance.choices(_OTHER_WORDS, k=5)
        words.insert(chance.randrange(5), label)
        lines.append(f"{'yes' if label == 'good' else 'no'}\t{' '.join(words)}")
    path.write_text("\n".join(lines) + "\n")
