"""Questions to windows with Hugging Face's fast tokenizer, in turns.

As in its question-answering example, for 1,000 questions at a time, but not padded. The
setting has data_file, vocabulary (a SentencePiece `.vocab`), max_seq_length and
doc_stride.
"""

import json
import os

os.environ["HF_HUB_OFFLINE"] = "1"

import transformers  # noqa: E402

from benchmarks.measuring import turns  # noqa: E402

_QUESTIONS = 1000  # of a batch


def main(setting):
    """Answers each request with seconds and windows."""
    tokenizer = tokenizer_of(setting["vocabulary"])
    with open(setting["data_file"], encoding="utf-8") as file:
        data = json.load(file)["data"]
    pairs = [
        (question["question"], paragraph["context"])
        for article in data
        for paragraph in article["paragraphs"]
        for question in paragraph["qas"]
    ]

    def make():
        windows = 0
        for i in range(0, len(pairs), _QUESTIONS):
            questions, contexts = zip(*pairs[i : i + _QUESTIONS], strict=True)
            found = tokenizer(
                list(questions),
                list(contexts),
                truncation="only_second",
                max_length=setting["max_seq_length"],
                stride=setting["doc_stride"],
                return_overflowing_tokens=True,
                return_offsets_mapping=True,
            )
            windows += len(found["input_ids"])
        return windows

    return lambda request: turns.seconds_of(make), transformers.__version__


def tokenizer_of(vocabulary):
    """Makes ALBERT's fast tokenizer from a SentencePiece `.vocab`."""
    with open(vocabulary, encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file]
    pieces = [(piece, float(score)) for piece, score in rows]
    return transformers.AlbertTokenizer(vocab=pieces)
