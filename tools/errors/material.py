"""Small inputs, right and wrong, that the cases name."""

import gzip
import json
import pathlib
import random

from albert_tf.config import AlbertConfig
from albert_tf.models.pretraining import AlbertForPreTraining
from albert_tf.tokenization import load_tokenizer
from albert_tf.xlnet.config import XLNetConfig
from albert_tf.xlnet.model import XLNetModel
from data_pipeline.create_pretraining_data import create_pretraining_data
from data_pipeline.options import DataOptions
from data_pipeline.train_tokenizer import TokenizerOptions
from data_pipeline.train_tokenizer import train_tokenizer

_WORDS = "the cat dog bird sat ran flew on under a mat house tree quickly slowly"
_CHINESE = "我们在这里看见一条河。\n河边的树很高。\n\n"
_SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
_SIZES = {
    "embedding_size": 8,
    "hidden_size": 8,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 16,
    "max_position_embeddings": 16,
}
_PIECES = 36


def make(folder):
    """Writes all of them into an empty folder, which must be the working directory."""
    _texts(folder)
    _vocabularies(folder)
    _configurations(folder)
    _records(folder)
    _models(folder)
    _tables(folder)
    _questions(folder)
    _tags(folder)


def _texts(folder):
    chance = random.Random(0)
    sentences = [" ".join(chance.choices(_WORDS.split(), k=6)) for _ in range(300)]
    lines = [f"{s}.\n" + "\n" * (i % 5 == 4) for i, s in enumerate(sentences)]
    (folder / "corpus.txt").write_text("".join(lines))
    (folder / "other.txt").write_text("".join(lines[:100]))
    (folder / "chinese.txt").write_text(_CHINESE * 20, encoding="utf-8")
    (folder / "gbk.txt").write_bytes((_CHINESE * 20).encode("gbk"))
    (folder / "utf16.txt").write_bytes("".join(lines).encode("utf-16"))
    (folder / "empty.txt").write_text("")
    (folder / "blank.txt").write_text("\n\n\n")
    (folder / "other_field.jsonl").write_text('{"body": "the cat sat."}\n' * 5)
    cut = gzip.compress("".join(lines).encode(), mtime=0)[:-20]
    (folder / "cut.txt.gz").write_bytes(cut)


def _vocabularies(folder):
    train_tokenizer(
        TokenizerOptions(
            input_file="corpus.txt",
            output_prefix="english",
            vocab_size=_PIECES,
            like="official",
        )
    )
    (folder / "vocab.txt").write_text("\n".join([*_SPECIAL, *_WORDS.split(), "."]))
    (folder / "no_mask.txt").write_text("\n".join([*_SPECIAL[:-1], *_WORDS.split()]))
    (folder / "notes.model").write_text("Buy milk.\n")
    (folder / "notes.txt").write_text("Buy milk.\nCall home.\n")


def _configurations(folder):
    AlbertConfig(vocab_size=_PIECES, **_SIZES).to_json_file("config.json")
    AlbertConfig(vocab_size=_PIECES - 5, **_SIZES).to_json_file("small_vocab.json")
    sizes = {"n_token": _PIECES, "d_model": 8, "n_layer": 1, "n_head": 2, "d_head": 4}
    xlnet = {**sizes, "d_inner": 16, "mem_len": 6, "reuse_len": 8}
    XLNetConfig(**xlnet).to_json_file("xlnet.json")
    XLNetConfig(**{**xlnet, "reuse_len": 4}).to_json_file("xlnet_4.json")
    XLNetConfig(**{**xlnet, "n_token": 30}).to_json_file("xlnet_30.json")
    values = json.loads((folder / "config.json").read_text())
    changes = {
        "odd_heads": {"num_attention_heads": 3},
        "typo": {"hiden_size": 8},
        "gelu": {"hidden_act": "gelo"},
    }
    for name, change in changes.items():
        (folder / f"{name}.json").write_text(json.dumps({**values, **change}))
    (folder / "broken.json").write_text('{"batch_size": 8,')
    (folder / "list.json").write_text("[8]")
    (folder / "unknown_flag.json").write_text('{"batchsize": 8}')
    (folder / "wrong_type.json").write_text('{"batch_size": "8"}')


def _records(folder):
    def records(name, **changes):
        values = {
            "input_file": "corpus.txt",
            "output_file": f"{name}/train.tfrecord",
            "spm_model_file": "english.model",
            "max_seq_length": 16,
            "max_predictions_per_seq": 3,
            "dupe_factor": 1,
            "workers": 1,
        }
        create_pretraining_data(DataOptions(**{**values, **changes}))

    records("records")
    records("dynamic", masking="dynamic")
    records("streams", objective="permutation_lm")
    records("longer", max_seq_length=32, max_predictions_per_seq=5)
    records("wordpiece", spm_model_file=None, vocab_file="vocab.txt")
    records("missing", num_shards=2)
    (folder / "missing/train-00001-of-00002.tfrecord").unlink()
    records("cut")
    path = folder / "cut/train.tfrecord"
    path.write_bytes(path.read_bytes()[:-100])


def _models(folder):
    config = AlbertConfig.from_json_file("config.json")
    model = AlbertForPreTraining(config)
    model.save_pretrained("models/base", load_tokenizer("english.model"))
    model.save_pretrained("k99/model", load_tokenizer("english.model"))
    model.save_pretrained("damaged", load_tokenizer("english.model"))
    weights = folder / "damaged/model.weights.h5"
    data = bytearray(weights.read_bytes())
    data[len(data) // 2] ^= 255
    weights.write_bytes(data)
    model.save_pretrained("no_tokenizer")
    model.save_pretrained("two_tokenizers", load_tokenizer("english.model"))
    (folder / "two_tokenizers" / "tokenizer_config.json").unlink()
    (folder / "two_tokenizers" / "vocab.txt").write_text("a")
    (folder / "empty_folder").mkdir()
    xlnet = XLNetConfig(
        n_token=_PIECES, d_model=8, n_layer=1, n_head=2, d_head=4, d_inner=16
    )
    XLNetModel(xlnet).save_pretrained("xlnet", load_tokenizer("english.model"))


def _tables(folder):
    rows = [f"{'yes' if k % 2 else 'no'}\tthe cat {'sat' * (k % 3)}" for k in range(8)]
    _table(folder / "table/train.tsv", "label\tsentence", rows)
    _table(folder / "table/dev.tsv", "label\tsentence", rows)
    _table(folder / "other_columns/train.tsv", "class\ttext", rows)
    _table(folder / "other_columns/dev.tsv", "class\ttext", rows)
    _table(folder / "new_label/train.tsv", "label\tsentence", rows)
    _table(folder / "new_label/dev.tsv", "label\tsentence", [*rows, "maybe\tthe dog"])
    _table(folder / "ragged/train.tsv", "label\tsentence", [*rows, "yes"])
    _table(folder / "ragged/dev.tsv", "label\tsentence", rows)
    _table(folder / "one_label/train.tsv", "label\tsentence", rows[:1])
    _table(folder / "one_label/dev.tsv", "label\tsentence", rows[:1])
    _table(folder / "scores/train.tsv", "label\tsentence", rows)
    _table(folder / "scores/dev.tsv", "label\tsentence", rows)
    _table(folder / "no_rows/train.tsv", "label\tsentence", [])
    _table(folder / "no_rows/dev.tsv", "label\tsentence", rows)
    pairs, scored = ["the cat\tthe dog"] * 4, ["the cat\tthe dog\t0.5"] * 4
    for role in ("train", "dev"):
        _table(folder / f"similar/{role}.tsv", "anchor\tpositive", pairs)
        _table(folder / f"no_partner/{role}.tsv", "anchor\tpositive", ["the cat\t"])
        _table(folder / f"high_score/{role}.tsv", "text\ttext_pair\tscore", scored)
    _table(folder / "high_score/dev.tsv", "text\ttext_pair\tscore", ["a\tb\t4.5"])


def _table(path, header, rows):
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join([header, *rows]) + "\n")


def _questions(folder):
    context = "The cat sat on the mat."

    def squad(name, answers, **more):
        question = {"id": "q1", "question": "Who sat?", "answers": answers, **more}
        paragraphs = [{"context": context, "qas": [question]}]
        data = {"version": "1.1", "data": [{"title": "t", "paragraphs": paragraphs}]}
        pathlib.Path(folder, name).write_text(json.dumps(data))

    squad("squad.json", [{"text": "The cat", "answer_start": 0}])
    squad("elsewhere.json", [{"text": "The dog", "answer_start": 0}])
    squad("negative.json", [{"text": "The cat", "answer_start": -4}])
    squad("unanswered.json", [], is_impossible=True)
    (folder / "no_data.json").write_text('{"questions": []}')
    (folder / "predictions.json").write_text('{"q1": "The cat"}')
    (folder / "numbers.json").write_text('{"q1": 7}')
    (folder / "other_ids.json").write_text('{"q2": 0.5}')


def _tags(folder):
    good = "The DT O\ncat NN B-ANIMAL\nsat VB O\n"
    span = {"start": 4, "end": 12, "label": "ANIMAL"}
    beyond = json.dumps({"text": "The cat", "spans": [span]})
    files = {
        "tags/train.conll": good,
        "two_schemes/train.conll": f"{good}\nA DT O\ndog NN I-ANIMAL\n",
        "short_line/train.conll": "The DT O\ncat O\n",
        "no_entities/train.conll": "The DT O\n",
        "fewer_tags/train.jsonl": '{"tokens": ["The", "cat"], "tags": ["O"]}\n',
        "long_span/train.jsonl": f"{beyond}\n",
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir()
        path.write_text(text)
        path.with_stem("dev").write_text(good if path.suffix == ".conll" else text)
