"""Tokens that the user of a Hugging Face tokenizer added to it."""

import json

import pytest
import tensorflow as tf

from albert_tf.errors import UserError
from albert_tf.tokenization import load_tokenizer
from albert_tf.tokenization.in_graph.tokenizer import InGraphTokenizer
from tests.tokenization.in_graph.graphs import check
from tests.vocabularies import wordpiece as vocabulary

# "new york" has white space, "caf\u00e9" an accent, "[E1]" what expressions mean.
NORMALIZED = ["Covid", "covid19", "caf\u00e9", "new york", "\ud55c"]
LITERAL = ["[E1]", "[E1", "$.$", "\u4e2d\u56fd"]
TEXTS = [
    "the [E1] cat [E1]is covid",
    "[E1]covid19COVID CAFE cafe\u0301[E1",
    "New \t York; new york\ud55c\u1112\u1161\u11ab",
    "\u4e2d\u56fd\u4e2d the$.$$.$",
    "",
    " [E1] ",
    "the cat, [CLS] [MASK]",
]


@pytest.fixture(params=["sentencepiece", "cased sentencepiece", "wordpiece"])
def directory(request, train_model, tmp_path):
    """A directory as transformers 4 writes it, and the first added id."""
    folder = tmp_path / "theirs"
    folder.mkdir()
    if request.param == "wordpiece":
        pieces = ["the", "cat", "is", "a", "##1", "9", "中", "[", "]", "co", "##vid"]
        (folder / "vocab.txt").write_text(vocabulary(pieces), "utf-8")
        first = 5 + len(pieces)
    else:
        (folder / "spiece.model").write_bytes(train_model())
        first = load_tokenizer(folder / "spiece.model").vocab_size
    tokens = [
        {"content": content, "normalized": content in NORMALIZED, "special": False}
        for content in [*LITERAL, *NORMALIZED]
    ]
    special = {"4": {"content": "[MASK]", "normalized": False, "special": True}}
    config = {
        "tokenizer_class": "BertTokenizer",
        "do_lower_case": not request.param.startswith("cased"),
        "added_tokens_decoder": {
            **special,
            **{str(first + i): token for i, token in enumerate(tokens)},
        },
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    return folder, first


def test_they_are_found_and_in_the_graph_too(directory):
    tokenizer, first = load_tokenizer(directory[0]), directory[1]
    found = [
        [i - first for i in row if i >= first] for row in map(tokenizer.encode, TEXTS)
    ]
    assert found[3:] == [[3, 2, 2], [], [0], []]
    expected = check(tokenizer, TEXTS)
    assert [len(tokenizer.tokenize(text)) for text in TEXTS] == list(map(len, expected))
    few = InGraphTokenizer(tokenizer, max_tokens=3)(tf.constant(TEXTS)).to_list()
    assert [row[:3] for row in few] == [ids[:3] for ids in expected]
    text = "a [E1] the"
    places = dict(zip(*tokenizer.encode_with_offsets(text), strict=True))
    assert places[directory[1]] == (2, 6)


def test_ids_of_added_tokens_become_text_again(directory):
    tokenizer, first = load_tokenizer(directory[0]), directory[1]
    ids = tokenizer("the [E1]cat")["input_ids"][0]
    assert tokenizer.decode(ids, skip_special_tokens=True) == "the [E1] cat"
    assert tokenizer.convert_ids_to_tokens(first) == "[E1]"
    assert tokenizer.convert_tokens_to_ids("[E1]") == first
    assert tokenizer.word_starts()[first:].all()
    assert len(tokenizer.word_starts()) == tokenizer.vocab_size
    assert tokenizer.vocab_size == first + len(NORMALIZED) + len(LITERAL)
    file = directory[0] / tokenizer.file_name
    plain = load_tokenizer(file, tokenizer.do_lower_case)
    assert plain.fingerprint() != tokenizer.fingerprint()


_WHOLE_WORD = {"content": "b", "id": 6, "single_word": True}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("added_tokens.json", {"b": 7}, "the id 7, but the next free one is 6"),
        ("added_tokens.json", {"b": 5}, "the id 5, which is 'a' in the vocabulary"),
        ("added_tokens.json", {"b": "x"}, "damaged tokenizer"),
        ("added_tokens.json", {"": 6}, "damaged tokenizer"),
        ("tokenizer.json", {"added_tokens": [_WHOLE_WORD]}, "'b' as a whole word only"),
        ("tokenizer.json", {"added_tokens": [{"id": 6}]}, "damaged tokenizer"),
        ("tokenizer_config.json", {"cls_token": "<s>"}, "sets cls_token to '<s>'; .*"),
    ],
)
def test_lists_that_cannot_be_followed(name, content, message, tmp_path):
    (tmp_path / "vocab.txt").write_text(vocabulary(["a"]))
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / name).write_text(json.dumps(content))
    with pytest.raises(UserError, match=message):
        load_tokenizer(tmp_path)


def test_lists_that_contradict_each_other(tmp_path):
    (tmp_path / "vocab.txt").write_text(vocabulary(["a"]))
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "added_tokens.json").write_text('{"b": 6}')
    assert load_tokenizer(tmp_path).encode("a B") == [5, 6]
    token = {"content": "b", "id": 7}
    (tmp_path / "tokenizer.json").write_text(json.dumps({"added_tokens": [token]}))
    with pytest.raises(UserError, match="'b' the id 6, another .* 7"):
        load_tokenizer(tmp_path)
