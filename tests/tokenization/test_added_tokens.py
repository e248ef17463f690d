"""Tokens that the user of a Hugging Face tokenizer added to it."""

import json
import pickle

import pytest
import tensorflow as tf

from albert_tf.errors import UserError
from albert_tf.row_layout import CLS_LAST
from albert_tf.tokenization import load_tokenizer
from albert_tf.tokenization.huggingface import save_for_others
from albert_tf.tokenization.in_graph.tokenizer import InGraphTokenizer
from albert_tf.tokenization.loading import tokenizer_of
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


def test_added_tokens_are_found(directory):
    tokenizer, first = load_tokenizer(directory[0]), directory[1]
    ids = {t: first + i for i, t in enumerate([*LITERAL, *NORMALIZED])}
    found = [[i for i in row if i >= first] for row in tokenizer.encode_batch(TEXTS)]
    e1, korean = ids["[E1]"], ids["\ud55c"]
    cased = not tokenizer.do_lower_case
    assert found[0] == ([e1, e1] if cased else [e1, e1, ids["Covid"]])
    cafes = [ids["caf\u00e9"]] * (1 if cased else 2)
    assert found[1][:2] == [e1, ids["covid19"]]
    assert [i for i in found[1] if i in cafes] == cafes
    assert found[1][-1] == ids["[E1"]
    york = ids["new york"]
    assert found[2] == [york] * (1 if cased else 2) + [korean] * 2
    assert found[3] == [ids["\u4e2d\u56fd"], ids["$.$"], ids["$.$"]]
    assert found[4:] == [[], [e1], []]
    # What stands between is tokenized by itself.
    base = load_tokenizer(next(directory[0].glob("[sv]*[lt]")))
    if not cased:
        assert tokenizer.encode("the [E1]cat") == [
            *base.encode("the"),
            e1,
            *base.encode("cat"),
        ]


def test_the_graph_finds_them_too(directory):
    tokenizer = load_tokenizer(directory[0])
    expected = [tokenizer.encode_with_offsets(text) for text in TEXTS]
    assert tokenizer.encode_batch(TEXTS) == [ids for ids, _ in expected]
    assert [len(tokenizer.tokenize(text)) for text in TEXTS] == [
        len(ids) for ids, _ in expected
    ]
    graph = tf.function(InGraphTokenizer(tokenizer).with_offsets)
    ids, starts, ends = graph(tf.constant(TEXTS))
    assert ids.to_list() == [ids for ids, _ in expected]
    assert starts.to_list() == [[start for start, _ in spans] for _, spans in expected]
    assert ends.to_list() == [[end for _, end in spans] for _, spans in expected]
    few = InGraphTokenizer(tokenizer, max_tokens=3)(tf.constant(TEXTS)).to_list()
    assert [row[:3] for row in few] == [ids[:3] for ids, _ in expected]
    text = "a [E1] the"
    places = dict(zip(*tokenizer.encode_with_offsets(text), strict=True))
    assert places[directory[1]] == (2, 6)


def test_added_tokens_stay_with_a_model(directory, tmp_path):
    tokenizer = load_tokenizer(directory[0])
    tokenizer.save(tmp_path / "ours")
    save_for_others(tokenizer, tmp_path / "for_others", "huggingface")
    (tmp_path / "for_others" / "config.json").write_text("{}")
    file = tmp_path / "ours" / tokenizer.file_name
    for other in (
        load_tokenizer(tmp_path / "ours"),
        load_tokenizer(tmp_path / "for_others"),
        tokenizer_of(tmp_path / "ours", file, tokenizer.do_lower_case),
        pickle.loads(pickle.dumps(tokenizer)),
        tokenizer.laid_out(CLS_LAST),
    ):
        assert other.encode_batch(TEXTS) == tokenizer.encode_batch(TEXTS)
        assert other.fingerprint() == tokenizer.fingerprint()
        assert other.vocab_size == directory[1] + len(NORMALIZED) + len(LITERAL)
    plain = load_tokenizer(file, tokenizer.do_lower_case)
    assert plain.fingerprint() != tokenizer.fingerprint()


def test_ids_of_added_tokens_become_text_again(directory):
    tokenizer, first = load_tokenizer(directory[0]), directory[1]
    ids = tokenizer("the [E1]cat")["input_ids"][0]
    assert tokenizer.decode(ids, skip_special_tokens=True) == "the [E1] cat"
    assert tokenizer.convert_ids_to_tokens(first) == "[E1]"
    assert tokenizer.convert_tokens_to_ids("[E1]") == first
    assert tokenizer.word_starts()[first:].all()
    assert len(tokenizer.word_starts()) == tokenizer.vocab_size


def _refused(folder, name, content, message):
    path = folder / name
    path.write_text(json.dumps(content))
    with pytest.raises(UserError, match=message):
        load_tokenizer(folder)
    path.unlink()


def test_lists_that_cannot_be_followed(tmp_path):
    (tmp_path / "vocab.txt").write_text(vocabulary(["a"]))
    (tmp_path / "config.json").write_text("{}")
    name = "added_tokens.json"
    _refused(tmp_path, name, {"b": 7}, "the id 7, but the next free one is 6")
    _refused(tmp_path, name, {"b": 5}, "the id 5, which is 'a' in the vocabulary")
    _refused(tmp_path, name, {"b": "x"}, "damaged tokenizer")
    _refused(tmp_path, name, {"": 6}, "damaged tokenizer")
    _refused(tmp_path, name, {"b": -1}, "damaged tokenizer")
    token = {"content": "b", "id": 6, "single_word": True}
    name = "tokenizer.json"
    whole = r"^[^(]*adds 'b' as a whole word only"
    _refused(tmp_path, name, {"added_tokens": [token]}, whole)
    _refused(tmp_path, name, {"added_tokens": [{"id": 6}]}, "damaged tokenizer")
    (tmp_path / "added_tokens.json").write_text('{"b": 6}')
    token = {"content": "b", "id": 7}
    _refused(tmp_path, name, {"added_tokens": [token]}, "'b' the id 6, another .* 7")
    assert load_tokenizer(tmp_path).encode("a B") == [5, 6]


def test_rows_with_other_special_tokens(tmp_path):
    (tmp_path / "vocab.txt").write_text(vocabulary(["a"]))
    name, token = "tokenizer_config.json", {"content": "<s>"}
    message = r"sets cls_token to '<s>'; .* with '\[CLS\]'"
    _refused(tmp_path, name, {"cls_token": token}, message)
