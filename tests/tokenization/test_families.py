"""DeBERTa's, ModernBERT's and XLM-R's vocabularies, beside the libraries of others."""

import random
import re
import unicodedata

import pytest
import sentencepiece
import transformers
from hypothesis import given

from albert_tf.errors import UserError
from albert_tf.row_layout import ONE_SEGMENT
from albert_tf.row_layout import TWO_SEPARATORS
from albert_tf.tokenization import deberta
from albert_tf.tokenization import load_tokenizer
from albert_tf.tokenization import sentencepiece_file
from albert_tf.tokenization import xlm_roberta
from albert_tf.tokenization.huggingface import save_for_others
from albert_tf.tokenization.normalization import composed_with_spans
from albert_tf.tokenization.normalization import joining_characters
from tests.tokenization.in_graph.graphs import check
from tests.tokenization.in_graph.graphs import traced
from tests.tokenization.in_graph.graphs import twin
from tests.vocabularies import deberta_pieces
from tests.vocabularies import modern_bpe
from tests.vocabularies import tie_pieces
from tests.vocabularies import xlm_pieces
from tools.fuzz.inputs import TEXTS_WITH_NUL

_PARTS = [
    *"aeéßEΣ日2,. \t\n\x85\u2028\u3000'\u0301\u0327\u1161\u11a8\uac00\u09c7\u09be",
    *["e\u0301", "\u1100\u1161\u11a8", "e\u0327\u0301", "\ufb01", "ａ"],
    *["½", "हि", "\u212b"],
    *["2000,", "  ", " " * 5, "``", "''", "'s", "▁", " the", "cat", "dog", "Straße"],
    *["[MASK]", " [MASK]", "[MA", "[CLS]", "[SEP]", "[PAD]", "\U0001f600"],
    *["[unused0]", "|||IP_ADDRESS|||", "<|padding|>"],
]
_TEXT = "The cafe\u0301  cost 2,000, they ``said''  \uff21 über."


def _deberta(folder):
    deberta_pieces(folder)
    return sentencepiece.SentencePieceProcessor(str(folder / "spm.model")).Encode


def _modernbert(folder):
    theirs = modern_bpe(folder)
    return lambda text: theirs.encode(text, add_special_tokens=False).ids


def _xlm_roberta(folder):
    xlm_pieces(folder)
    path = str(folder / "sentencepiece.bpe.model")
    encode = sentencepiece.SentencePieceProcessor(path).Encode
    # As fairseq moves the ids.
    return lambda text: [i + 1 if i else 3 for i in encode(text)]


# By `model_type`: the writer, the library's class, the layout, and the first pieces.
_FAMILIES = {
    "deberta-v2": (
        *(_deberta, transformers.DebertaV2Tokenizer, None),
        ["[PAD]", "[CLS]", "[SEP]", "[UNK]"],
    ),
    "modernbert": (
        *(_modernbert, transformers.PreTrainedTokenizerFast, ONE_SEGMENT),
        ["|||IP_ADDRESS|||", "<|padding|>"],
    ),
    "xlm-roberta": (
        *(_xlm_roberta, transformers.XLMRobertaTokenizer, TWO_SEPARATORS),
        ["<s>", "<pad>", "</s>", "<unk>"],
    ),
}


@pytest.fixture(scope="module", params=_FAMILIES)
def family(request):
    return request.param


@pytest.fixture(scope="module")
def folder(family, tmp_path_factory):
    folder = tmp_path_factory.mktemp(family)
    (folder / "config.json").write_text(f'{{"model_type": "{family}"}}')
    return folder


@pytest.fixture(scope="module")
def reference(family, folder):
    """The ids of a text by the library that the vocabulary is for."""
    return _FAMILIES[family][0](folder)


@pytest.fixture(scope="module")
def ours(reference, folder):
    return load_tokenizer(folder)


def _compare(ours, reference, text):
    if ours.kind == "sentencepiece":
        # Apart from NUL, Python takes these for white space; the model does not.
        text = re.sub("[\0\x0b\x1c-\x1f\x85]", " ", text)
    ids, spans = ours.encode_with_offsets(text)
    assert ids == reference(text) == ours.encode(text), ascii(text)
    assert all(0 <= start <= end <= len(text) for start, end in spans)


@given(text=TEXTS_WITH_NUL)
def test_any_text(ours, reference, text):
    _compare(ours, reference, text)


@pytest.mark.slow
def test_hostile_texts(ours, reference):
    draw = random.Random(5)
    texts = ["".join(draw.choices(_PARTS, k=draw.randint(0, 12))) for _ in range(1000)]
    for text in texts:
        _compare(ours, reference, text)
    check(ours, texts[:300], traced(twin(ours)))


def test_pieces_and_rows(family, ours, folder):
    _, library, layout, first = _FAMILIES[family]
    theirs = library.from_pretrained(folder)
    assert ours.pieces[: len(first)] == first
    assert ours.get_vocab() == theirs.get_vocab()
    assert ours.do_lower_case is False
    assert layout in (None, ours.layout)
    mask = "<mask>" if family == "xlm-roberta" else "[MASK]"
    assert ours.pieces[ours.mask_id] == ours.pieces[-1] == mask
    texts, pairs = ["the cat sat, in 2000,", "a"], ["the dog", "it's"]
    found = ours(texts, pairs, padding=False)
    assert found["input_ids"] == theirs(texts, pairs)["input_ids"]
    has_segments = family == "deberta-v2"
    assert any(map(any, found["segment_ids"])) is has_segments
    marked = ours(f"the {mask}", special_tokens_in_text=True, padding=False)
    assert marked["input_ids"] == theirs([f"the {mask}"])["input_ids"]


def test_places_of_composed_characters(tmp_path):
    modern_bpe(tmp_path)
    modern = load_tokenizer(tmp_path)
    text = "cafe\u0301 \u1100\u1161\u11a8x"
    ids, spans = modern.encode_with_offsets(text)
    assert ids == modern.encode("caf\u00e9 \uac01x")
    assert (spans[0][0], spans[-1]) == (0, (len(text) - 1, len(text)))
    assert any(end == 5 for _, end in spans) and not any(end == 4 for _, end in spans)
    # The space is no part of its piece; what follows it, two marks, is one character.
    spans = modern.encode_with_offsets("a \u0344")[1]
    assert spans == [(0, 1), (1, 1), *[(1, 3)] * (len(spans) - 2)] and len(spans) > 2
    check(modern, [text, "", "e\u0301", "a  ", "a \u0344"])
    # What joins the syllable before it, as the first of Korean's letters do.
    letters = range(0x1100, 0x1200)
    joined = [
        any(len(unicodedata.normalize("NFC", a + chr(b))) == 1 for a in "\u1100\uac00")
        for b in letters
    ]
    assert joining_characters()[letters].tolist() == joined
    places = [*zip(range(6), range(1, 7), strict=True)]
    spans = [*places[:3], (3, 5), (5, 6), (6, 9), (9, 10)]
    assert composed_with_spans(text) == ("caf\u00e9 \uac01x", spans)


def test_debertas_own_file_comes_back(tmp_path):
    reference = _deberta(tmp_path)
    ours = load_tokenizer(tmp_path)
    save_for_others(ours, tmp_path / "written", "huggingface")
    theirs = transformers.DebertaV2Tokenizer.from_pretrained(tmp_path / "written")
    assert theirs.get_vocab() == ours.get_vocab()
    written = sentencepiece.SentencePieceProcessor(str(tmp_path / "written/spm.model"))
    assert written.Encode(_TEXT) == reference(_TEXT)
    assert written.GetPieceSize() == ours.vocab_size - 1  # all but the mask
    # Models that are not DeBERTa's, or have a mask of their own.
    model = sentencepiece_file.ModelProto.FromString(ours.file_bytes)
    model.pieces.add(piece="behind")
    for changed in (model.SerializeToString(), tie_pieces()):
        assert (
            deberta.with_mask(changed, "x") == deberta.without_mask(changed) == changed
        )


def test_a_tokenizer_json_of_xlm_r(tmp_path):
    xlm_pieces(tmp_path)
    ours = load_tokenizer(tmp_path)
    theirs = transformers.XLMRobertaTokenizer.from_pretrained(tmp_path)
    theirs.save_pretrained(tmp_path / "json")
    (tmp_path / "json/sentencepiece.bpe.model").unlink(missing_ok=True)
    again = load_tokenizer(tmp_path / "json")
    assert again.encode(_TEXT) == ours.encode(_TEXT)
    assert (again.layout, again.get_vocab()) == (ours.layout, ours.get_vocab())
    whole, own = (
        sentencepiece_file.ModelProto.FromString(data).pieces
        for data in (
            (tmp_path / xlm_roberta.FILE).read_bytes(),
            xlm_roberta.without_fairseq_ids(ours.file_bytes),
        )
    )
    assert [piece.piece for piece in own] == [piece.piece for piece in whole]
    model = sentencepiece_file.ModelProto.FromString(ours.file_bytes)
    first, second = model.pieces[0].piece, model.pieces[1].piece
    model.pieces[0].piece, model.pieces[1].piece = second, first
    with pytest.raises(UserError, match="vocabulary begins with the pieces <pad>, "):
        xlm_roberta.without_fairseq_ids(model.SerializeToString())


def test_one_vocabulary_takes_the_place_of_another(opened, tmp_path):
    served = opened("encoder", "xlm-roberta")
    served.model.save_pretrained(tmp_path, served.tokenizer, format="huggingface")
    assert (tmp_path / "sentencepiece.bpe.model").exists()
    served.model.save_pretrained(tmp_path, served.tokenizer)
    assert not (tmp_path / "sentencepiece.bpe.model").exists()
