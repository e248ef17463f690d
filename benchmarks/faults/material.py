"""Material of the attacks: a corpus, tables, questions, configurations."""

import json
import random

from albert_tf.io.files import write_atomically

_WORDS = "the cat dog bird sat ran flew on under a mat house tree quickly slowly"
_DOCUMENT_END = 0.1  # share of the lines
VOCAB_SIZE = 36
LENGTH = 16
CONFIG = {
    "vocab_size": VOCAB_SIZE,
    "embedding_size": 8,
    "hidden_size": 8,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 16,
    "max_position_embeddings": LENGTH,
}


def write_material(folder):
    """Writes `corpus.txt`, `config.json`, `tables/` and `squad.json`."""
    _write_corpus(folder / "corpus.txt")
    write_atomically(folder / "config.json", json.dumps(CONFIG))
    rng = random.Random(1)
    for name, count in (("train", 200), ("dev", 50), ("test", 50)):
        table = ["label\tsentence", *(_row(rng) for _ in range(count))]
        write_atomically(folder / "tables" / f"{name}.tsv", "\n".join(table) + "\n")
    questions = [_question(rng, number) for number in range(50)]
    squad = {"version": "1.1", "data": [{"title": "", "paragraphs": questions}]}
    write_atomically(folder / "squad.json", json.dumps(squad))


def _write_corpus(path):
    """Writes sentences of six words, a blank line between documents."""
    rng = random.Random(0)
    text = [
        "" if rng.random() < _DOCUMENT_END else f"{_sentence(rng, 6)}."
        for _ in range(2000)
    ]
    write_atomically(path, "\n".join(text))


def _sentence(rng, words):
    return " ".join(rng.choices(_WORDS.split(), k=words))


def _row(rng):
    text = _sentence(rng, rng.randint(2, 6))
    return f"{'animal' if 'cat' in text or 'dog' in text else 'other'}\t{text}"


def _question(rng, number):
    context = _sentence(rng, 5)
    answer = context.split()[2]
    start = sum(len(word) + 1 for word in context.split()[:2])
    answers = [{"text": answer, "answer_start": start}]
    qas = [{"id": f"q{number}", "question": "the cat", "answers": answers}]
    return {"context": context, "qas": qas}
