"""A complete tiny task with two to four options, run by flags."""

import json
import random

import pytest

from albert_tf.tasks.multiple_choice.flags import RaceOptions
from albert_tf.tokenization.wordpiece import WordPieceTokenizer

_RIGHT = ["sun", "moon", "star"]
_WRONG = ["mud", "dust", "sand", "clay", "rock"]
_PIECES = [*"abcdefgh_?.", "what", "shines", *_RIGHT, *_WRONG]


@pytest.fixture(scope="session")
def words(vocabulary):
    """A WordPiece tokenizer of some words and letters."""
    return WordPieceTokenizer(vocabulary(_PIECES).encode())


@pytest.fixture
def make_questions():
    """Makes questions, as dicts of JSONL; the right option is one that shines."""

    def make(count, seed):
        chance = random.Random(seed)
        questions = []
        for number in range(count):
            options = chance.sample(_WRONG, chance.randint(1, 3))
            label = chance.randint(0, len(options))
            options.insert(label, chance.choice(_RIGHT))
            context = " ".join(chance.choices("abcdefgh", k=chance.randint(1, 9)))
            question = chance.choice(["what shines ?", "_ shines ."])
            questions.append({"id": f"q{number}", "context": context})
            questions[-1] |= {"question": question, "options": options, "label": label}
        return questions

    return make


@pytest.fixture
def write_jsonl(tmp_path):
    """Writes questions to a file of the folder `data`."""

    def write(name, questions):
        path = tmp_path / "data" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(json.dumps(one) + "\n" for one in questions))
        return path

    return write


@pytest.fixture
def flags(tmp_path, make_questions, write_jsonl, tiny_model, command):
    """Runs the command with flags; the defaults are a complete tiny task."""
    for seed, (role, count) in enumerate((("train", 64), ("dev", 20), ("test", 12))):
        write_jsonl(f"{role}.jsonl", make_questions(count, seed))
    return command(
        RaceOptions,
        task_name="custom",
        data_dir=tmp_path / "data",
        **tiny_model(_PIECES),
        max_seq_length=16,
        max_qa_length=6,
        train_batch_size=16,
        train_step=40,
        warmup_step=4,
        save_checkpoints_steps=20,
        learning_rate=1e-2,
        dropout_prob=0,
    )
