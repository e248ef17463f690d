"""Pretraining records of made-up words, for benchmarks without a corpus."""

import os

import numpy as np

from data_pipeline.create_pretraining_data import create_pretraining_data
from data_pipeline.options import DataOptions

_SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_SEQUENCES = 200
_WORDS_PER_SENTENCE = 20
_SENTENCES_PER_DOCUMENT = 30


def make_records(folder, tokens, predictions, vocab_size):
    """Writes a corpus, its vocabulary and records of dynamic masks; returns paths."""
    paths = {
        name: os.path.join(folder, name)
        for name in ("corpus.txt", "vocab.txt", "records")
    }
    words = [f"word{i}" for i in range(vocab_size - len(_SPECIAL_TOKENS))]
    with open(paths["vocab.txt"], "w", encoding="utf-8") as file:
        file.writelines(f"{token}\n" for token in (*_SPECIAL_TOKENS, *words))
    rng = np.random.default_rng(1)
    sentences = _SEQUENCES * tokens // _WORDS_PER_SENTENCE
    with open(paths["corpus.txt"], "w", encoding="utf-8") as file:
        for number in range(1, sentences + 1):
            file.write(f"{' '.join(rng.choice(words, _WORDS_PER_SENTENCE))}\n")
            if number % _SENTENCES_PER_DOCUMENT == 0:
                file.write("\n")
    options = DataOptions(
        input_file=paths["corpus.txt"],
        output_file=paths["records"],
        vocab_file=paths["vocab.txt"],
        masking="dynamic",
        max_seq_length=tokens,
        max_predictions_per_seq=predictions,
        workers=1,
    )
    create_pretraining_data(options)
    return {"input_file": paths["records"], "tokenizer": paths["vocab.txt"]}
