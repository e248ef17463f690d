"""What is written is read by transformers, and what it writes is read here."""

import json

import pytest

from albert_tf.tokenization.saving import save_for_others
from albert_tf.tokenization.sentencepiece import SentencePieceTokenizer
from albert_tf.tokenization.wordpiece import WordPieceTokenizer
from tests.vocabularies import wordpiece as vocabulary

transformers = pytest.importorskip("transformers")

TEXTS = [
    "The cat sat on the mat",
    "a ``quick'' fox, isn't it? $3",
    "caf\u00e9 re\u0301sum\u00e9 \ufb01ne \u216b",
    "\u4e2d\u56fd the \u3042 \U0001f600 dog\u00a0barked\u2028now",
    " \t spaces\u3000everywhere \n",
    "",
    "\u0130stanbul \u1e9e \ufb03",
]
PIECES = "the cat sat on a fox ##s ##t c ##a ##f ##e do ##g , ' ` ? $ 3 \u4e2d \u56fd"


def _tokenizer(kind, do_lower_case, train_model):
    if kind == "wordpiece":
        pieces = [*PIECES.split(), "T", "##h", "a", "", "fox"]
        return WordPieceTokenizer(vocabulary(pieces).encode(), do_lower_case)
    changes = {}
    if kind == "xlnet":
        changes = {
            "pad_id": -1,
            "unk_id": 0,
            "control_symbols": ["<cls>", "<sep>", "<pad>", "<mask>"],
        }
    model = train_model(model_type="unigram", vocab_size=70, **changes)
    return SentencePieceTokenizer(model, do_lower_case)


@pytest.mark.parametrize("do_lower_case", [True, False])
@pytest.mark.parametrize("kind", ["wordpiece", "albert", "xlnet"])
def test_transformers_reads_what_is_written(kind, do_lower_case, train_model, tmp_path):
    tokenizer = _tokenizer(kind, do_lower_case, train_model)
    save_for_others(tokenizer, tmp_path, "huggingface")
    model_type = "xlnet" if kind == "xlnet" else "albert"
    (tmp_path / "config.json").write_text(json.dumps({"model_type": model_type}))
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
    texts = TEXTS
    if kind == "albert":  # theirs joins quotes: it cannot be told not to
        texts = [text.replace("``", '"').replace("''", '"') for text in TEXTS]
    expected = theirs(texts, texts[::-1], add_special_tokens=True)
    found = tokenizer(texts, texts[::-1], padding=False)
    assert found["input_ids"] == expected["input_ids"]
    assert found["segment_ids"] == expected["token_type_ids"]
