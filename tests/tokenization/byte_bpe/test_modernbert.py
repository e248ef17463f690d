"""ModernBERT's form of byte-level BPE, against the package tokenizers."""

import json
import random

import pytest
from hypothesis import given

from albert_tf.errors import UserError
from albert_tf.row_layout import ONE_SEGMENT
from albert_tf.tokenization import load_tokenizer
from tests.tokenization.in_graph.graphs import check
from tests.tokenization.in_graph.graphs import traced
from tests.tokenization.in_graph.graphs import twin
from tests.vocabularies import modern_bpe
from tools.fuzz.inputs import TEXTS_WITH_NUL

_PARTS = [
    *"aeEΣ日 ,2\t\n\x85\u2028\u3000\u0301\u0327\u1161\u11a8\uac00\u09c7\u09be\u212b'",
    *["e\u0301", "\u1100\u1161\u11a8", "e\u0327\u0301", "e\u0301\u0327", "\ufb01"],
    *["  ", "   ", " " * 5, "[MASK]", " [MASK]", "[MA", "[CLS]", "[SEP]", "[PAD]"],
    *["[unused0]", "|||IP_ADDRESS|||", "<|padding|>", " the", "'s", "\U0001f600"],
]


def _texts(count):
    draw = random.Random(3)
    for _ in range(count):
        yield "".join(draw.choices(_PARTS, k=draw.randint(0, 12)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("modernbert")


@pytest.fixture(scope="module")
def theirs(folder):
    return modern_bpe(folder)


@pytest.fixture(scope="module")
def ours(theirs, folder):
    return load_tokenizer(folder)


def _compare(ours, theirs, text):
    expected = theirs.encode(text, add_special_tokens=False)
    ids, spans = ours.encode_with_offsets(text)
    assert ids == expected.ids == ours.encode(text), ascii(text)
    assert all(0 <= start <= end <= len(text) for start, end in spans)


@given(text=TEXTS_WITH_NUL)
def test_any_text_is_that_of_tokenizers(ours, theirs, text):
    _compare(ours, theirs, text)


@pytest.mark.slow
def test_hostile_texts(ours, theirs):
    texts = [*_texts(2000)]
    for text in texts:
        _compare(ours, theirs, text)
    check(ours, texts[:400], traced(twin(ours)))


def test_places_of_composed_characters(ours):
    text = "cafe\u0301 \u1100\u1161\u11a8x"
    ids, spans = ours.encode_with_offsets(text)
    assert ids == ours.encode("caf\u00e9 \uac01x")
    assert (spans[0][0], spans[-1]) == (0, (len(text) - 1, len(text)))
    assert any(end == 5 for _, end in spans) and not any(end == 4 for _, end in spans)
    check(ours, [text, "", "e\u0301", "a  "])


def test_rows(ours, theirs):
    assert ours.layout == ONE_SEGMENT
    features = ours(["the cat", "a"], ["a dog", "the mat [MASK]"], padding=False)
    pairs = [("the cat", "a dog"), ("a", "the mat [MASK]")]
    assert features["input_ids"] == [theirs.encode(*pair).ids for pair in pairs]
    assert not any(map(any, features["segment_ids"]))


def test_another_form_is_refused(ours, folder, tmp_path):
    content = json.loads((folder / "tokenizer.json").read_text())
    content["post_processor"]["pair"].pop()
    (tmp_path / "tokenizer.json").write_text(json.dumps(content))
    with pytest.raises(UserError, match="the post_processor"):
        load_tokenizer(tmp_path)
