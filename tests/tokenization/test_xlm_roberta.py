"""XLM-R's SentencePiece, from its own file and from a tokenizer.json."""

import json
import random
import re

import pytest
import sentencepiece
import transformers
from hypothesis import given

from albert_tf.errors import UserError
from albert_tf.row_layout import TWO_SEPARATORS
from albert_tf.tokenization import load_tokenizer
from albert_tf.tokenization import sentencepiece_file
from albert_tf.tokenization import xlm_roberta
from albert_tf.tokenization.huggingface import save_for_others
from tests.tokenization.in_graph.graphs import check
from tests.tokenization.in_graph.graphs import traced
from tests.tokenization.in_graph.graphs import twin
from tests.vocabularies import tie_pieces
from tests.vocabularies import xlm_pieces
from tools.fuzz.inputs import TEXTS

_PARTS = [
    *"aeéßΣ日2,. \t\n\u3000\u2028'\u0301\ufb01ａ½हि",
    *["e\u0301", "2000,", "  ", " the", "cat", "über", "Straße", "``", "''", "▁"],
]
_TEXT = "The cafe\u0301  cost 2,000, they ``said''  \uff21 über."


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("xlm")
    xlm_pieces(folder)
    (folder / "config.json").write_text('{"model_type": "xlm-roberta"}')
    return folder


@pytest.fixture(scope="module")
def theirs(folder):
    return transformers.XLMRobertaTokenizer.from_pretrained(folder)


@pytest.fixture(scope="module")
def ours(folder):
    return load_tokenizer(folder)


def test_pieces_and_rows(ours, theirs):
    assert ours.pieces[:5] == ["<s>", "<pad>", "</s>", "<unk>", ours.pieces[4]]
    assert ours.pieces[-1] == "<mask>"
    assert ours.get_vocab() == theirs.get_vocab()
    assert (ours.layout, ours.do_lower_case) == (TWO_SEPARATORS, False)
    texts, pairs = [_TEXT, "a"], ["the cat", ""]
    expected = theirs(texts, pairs)["input_ids"]
    assert ours(texts, pairs, padding=False)["input_ids"] == expected
    marked = ours("the <mask>", special_tokens_in_text=True, padding=False)
    assert marked["input_ids"] == theirs(["the <mask>"])["input_ids"]


@pytest.fixture(scope="module")
def library(folder):
    """The ids of SentencePiece itself, moved as fairseq moves them."""
    path = str(folder / "sentencepiece.bpe.model")
    processor = sentencepiece.SentencePieceProcessor(path)
    return lambda text: [i + 1 if i else 3 for i in processor.Encode(text)]


@given(text=TEXTS)
def test_any_text_is_that_of_sentencepiece(ours, library, text):
    # Python takes these for white space; the model drops them.
    text = re.sub("[\x0b\x1c-\x1f]", " ", text)
    assert ours.encode(text) == library(text)


@pytest.mark.slow
def test_hostile_texts(ours, library):
    draw = random.Random(5)
    texts = ["".join(draw.choices(_PARTS, k=draw.randint(0, 9))) for _ in range(2000)]
    for text in texts:
        assert ours.encode(text) == library(text), ascii(text)
    check(ours, texts[:300], traced(twin(ours)))


def test_their_forms(ours, theirs, tmp_path):
    theirs.save_pretrained(tmp_path / "json")
    (tmp_path / "json/sentencepiece.bpe.model").unlink(missing_ok=True)
    again = load_tokenizer(tmp_path / "json")
    assert again.encode(_TEXT) == ours.encode(_TEXT)
    assert (again.layout, again.get_vocab()) == (ours.layout, ours.get_vocab())
    save_for_others(ours, tmp_path / "written", "huggingface")
    config = json.loads((tmp_path / "written/tokenizer_config.json").read_text())
    assert config["tokenizer_class"] == "XLMRobertaTokenizer"


def test_one_vocabulary_takes_the_place_of_another(opened, tmp_path):
    served = opened("encoder", "xlm-roberta")
    served.model.save_pretrained(tmp_path, served.tokenizer, format="huggingface")
    assert (tmp_path / "sentencepiece.bpe.model").exists()
    served.model.save_pretrained(tmp_path, served.tokenizer)
    assert not (tmp_path / "sentencepiece.bpe.model").exists()


def test_pieces_in_another_order_have_no_form_of_theirs(ours):
    model = sentencepiece_file.ModelProto.FromString(ours.file_bytes)
    first, second = model.pieces[0].piece, model.pieces[1].piece
    model.pieces[0].piece, model.pieces[1].piece = second, first
    with pytest.raises(UserError, match="vocabulary begins with the pieces <pad>, "):
        xlm_roberta.without_fairseq_ids(model.SerializeToString())


def test_other_files_are_refused(tmp_path):
    (tmp_path / "sentencepiece.bpe.model").write_bytes(tie_pieces())
    with pytest.raises(UserError, match="begins with the pieces <unk>, .CLS., .SEP."):
        load_tokenizer(tmp_path)
