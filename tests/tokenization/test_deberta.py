"""DeBERTa's SentencePiece, whose [MASK] its programs add."""

import random

import pytest
import sentencepiece
import transformers

from albert_tf.errors import UserError
from albert_tf.tokenization import load_tokenizer
from albert_tf.tokenization.huggingface import save_for_others
from tests.tokenization.in_graph.graphs import check
from tests.tokenization.in_graph.graphs import traced
from tests.tokenization.in_graph.graphs import twin
from tests.vocabularies import deberta_pieces

_PARTS = [
    *"aeéßΣ日2,. \t\n\u3000'\u0301\ufb01ａ½",
    *["e\u0301", "2000,", "  ", " the", "cat", "dog", "``", "''", "▁", "[CLS]"],
]
_TEXT = "The cafe\u0301  cost 2,000, they ``said''  \uff21 over."


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("deberta")
    deberta_pieces(folder)
    (folder / "config.json").write_text('{"model_type": "deberta-v2"}')
    return folder


@pytest.fixture(scope="module")
def ours(folder):
    return load_tokenizer(folder)


def test_pieces_and_rows(ours, folder):
    theirs = transformers.DebertaV2Tokenizer.from_pretrained(folder)
    assert ours.pieces[:4] == ["[PAD]", "[CLS]", "[SEP]", "[UNK]"]
    assert (ours.pieces[-1], ours.do_lower_case) == ("[MASK]", False)
    assert ours.get_vocab() == theirs.get_vocab()
    texts, pairs = ["the cat sat, in 2000,", "a"], ["the dog", "it's"]
    rows = theirs(texts, pairs)["input_ids"]
    assert ours(texts, pairs, padding=False)["input_ids"] == rows
    marked = ours("the [MASK]", special_tokens_in_text=True, padding=False)
    assert marked["input_ids"] == theirs(["the [MASK]"])["input_ids"]


@pytest.mark.slow
def test_hostile_texts(ours, folder):
    library = sentencepiece.SentencePieceProcessor(str(folder / "spm.model"))
    draw = random.Random(5)
    texts = ["".join(draw.choices(_PARTS, k=draw.randint(0, 9))) for _ in range(2000)]
    for text in texts:
        assert ours.encode(text) == library.Encode(text), ascii(text)
    check(ours, texts[:300], traced(twin(ours)))


def test_every_form_is_the_same(ours, folder, tmp_path):
    ours.save(tmp_path / "own")
    save_for_others(ours, tmp_path / "written", "huggingface")
    for form in ("own", "written"):
        again = load_tokenizer(tmp_path / form)
        assert again.encode(_TEXT) == ours.encode(_TEXT)
        assert (again.layout, again.get_vocab()) == (ours.layout, ours.get_vocab())
    library = sentencepiece.SentencePieceProcessor
    pieces = library(str(tmp_path / "written" / "spm.model"))
    assert pieces.Encode(_TEXT) == library(str(folder / "spm.model")).Encode(_TEXT)
    theirs = transformers.DebertaV2Tokenizer.from_pretrained(tmp_path / "written")
    assert theirs.get_vocab() == ours.get_vocab()


def test_a_whole_file_alone_is_refused(folder, tmp_path):
    transformers.DebertaV2Tokenizer.from_pretrained(folder).save_pretrained(tmp_path)
    (tmp_path / "spm.model").unlink(missing_ok=True)
    with pytest.raises(UserError, match=r"put the spm\.model beside it"):
        load_tokenizer(tmp_path)
