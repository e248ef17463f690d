"""A corpus for tests, its vocabulary and its records; files of questions."""

import json
import random


def write_corpus(folder):
    """Writes corpus.txt, and vocab.model of 36 pieces."""
    from data_pipeline.train_tokenizer import TokenizerOptions
    from data_pipeline.train_tokenizer import train_tokenizer

    words = "the cat dog bird sat ran flew on under a mat house tree quickly slowly"
    rng = random.Random(0)
    lines = [
        " ".join(rng.choices(words.split(), k=6)) + "." if rng.random() < 0.9 else ""
        for _ in range(2000)
    ]
    (folder / "corpus.txt").write_text("\n".join(lines))
    prefix = str(folder / "vocab")
    corpus = str(folder / "corpus.txt")
    named = {"input_file": corpus, "output_prefix": prefix}
    train_tokenizer(TokenizerOptions(**named, vocab_size=36, like="official"))


def make_records(folder, name, **options):
    """Makes records of the corpus in a folder, beside it: the path of their folder."""
    from data_pipeline.create_pretraining_data import create_pretraining_data
    from data_pipeline.options import DataOptions

    create_pretraining_data(
        DataOptions(
            input_file=str(folder / "corpus.txt"),
            output_file=str(folder / name / "train.tfrecord"),
            spm_model_file=str(folder / "vocab.model"),
            dupe_factor=1,
            held_out_fraction=0.2,
            workers=1,
            **{"max_seq_length": 16, "max_predictions_per_seq": 3, **options},
        )
    )
    return folder / name


def write_squad(folder, *paragraphs, name="squad.json", **members):
    """Writes a file in SQuAD's layout from (context, [(id, question, answers)]).

    Answers are (text, start); None marks a question as impossible.
    """
    written = [{"context": c, "qas": [_asked(*q) for q in a]} for c, a in paragraphs]
    data = [{"title": "A title", "paragraphs": written}]
    (folder / name).write_text(json.dumps({**members, "data": data}), "utf-8")
    return folder / name


def _asked(identity, text, answers):
    found = [{"text": text, "answer_start": at} for text, at in answers or []]
    impossible = {"is_impossible": True} if answers is None else {}
    return {"id": identity, "question": text, "answers": found, **impossible}
