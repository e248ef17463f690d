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
    names = ("corpus.txt", "vocab.txt", "records")
    corpus, vocabulary, records = (os.path.join(folder, name) for name in names)
    words = [f"word{i}" for i in range(vocab_size - len(_SPECIAL_TOKENS))]
    with open(vocabulary, "w", encoding="utf-8") as file:
        file.writelines(f"{token}\n" for token in (*_SPECIAL_TOKENS, *words))
    rng = np.random.default_rng(1)
    sentences = _SEQUENCES * tokens // _WORDS_PER_SENTENCE
    with open(corpus, "w", encoding="utf-8") as file:
        for number in range(1, sentences + 1):
            file.write(f"{' '.join(rng.choice(words, _WORDS_PER_SENTENCE))}\n")
            if number % _SENTENCES_PER_DOCUMENT == 0:
                file.write("\n")
    options = DataOptions(
        input_file=corpus,
        output_file=records,
        vocab_file=vocabulary,
        masking="dynamic",
        max_seq_length=tokens,
        max_predictions_per_seq=predictions,
        workers=1,
    )
    create_pretraining_data(options)
    return {"input_file": records, "tokenizer": vocabulary}
