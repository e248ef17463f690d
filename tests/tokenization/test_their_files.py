"""Directories of tokenizers that other libraries wrote: followed, or refused."""

import json

import numpy as np
import pytest
import tensorflow as tf
import tokenizers
import transformers

from albert_tf.errors import UserError
from albert_tf.row_layout import CLS_LAST
from albert_tf.tasks.tokenized_examples import tokenize_texts
from albert_tf.tokenization import huggingface
from albert_tf.tokenization import load_tokenizer
from albert_tf.tokenization import sentencepiece_file
from albert_tf.tokenization.huggingface import save_for_others
from albert_tf.tokenization.in_graph.features import TextFeatures
from albert_tf.tokenization.in_graph.tokenizer import InGraphTokenizer
from tests.tokenization.in_graph.graphs import check
from tests.vocabularies import byte_bpe
from tests.vocabularies import deberta_pieces
from tests.vocabularies import modern_bpe
from tests.vocabularies import tie_pieces
from tests.vocabularies import wordpiece

HOSTILE = [
    "The cat's \u039f\u03a3 \u039f\u03a3\u039f\u03a3 \u03a3",
    "caf\u00e9 re\u0301sume\u0301 \ufb01ne \u216b \u0130stanbul \u1e9e \ufb03",
    "\u00c5 a\u0308\u0323",
    "\u4e2d\u56fd\u306b\u3042 \uff0e\uff01",
    "\uac00\ud55c\uae00 \u0915\u094d\u092f\u093e \u0e01\u0e33",
    "a\ue000b \U000f0000c a\u200bb a\u00adb a\ufeffb \ufffd a\u0085b \x7f \x01",
    " \t spaces\u3000every\u00a0where\u2028now \n",
    "",
    " ",
    "a" * 100 + " " + "a" * 101 + " " + "b" * 200,
    '\U0001f600 dog1974, 1974,. 3.14 (x-y) \u2013 \u00a35 \u20ac6 "q"',
    "``x'' `` '' ``' '''",
    "thecat now",
    "a[E1]b COVID covid\u0301 new york\u4e2d",
    "\u2581a\u2581 b_c\u2581",
]
PIECES = (
    "the cat ##s a ##a b ##b ab abc c ##c e ##e caf cafe fine \u03bf ##\u03c3 ##\u03c2 "
    "\u03c3 \u03c2 \u4e2d \u56fd ' ` \" - . , ( ) $ 1 ##9 ##7 ##4 q x y d ##o ##g i "
    "The T ##h \u039f ##\u03a3 \u03a3 every where now \u2013 E ##1 [ ] \u00e9 ##\u00e9"
)
COVID = transformers.AddedToken("Covid", normalized=True)


def _bert(folder, charsmap=None, **options):
    ids = {p: i for i, p in enumerate(wordpiece(PIECES.split()).splitlines())}
    theirs = transformers.BertTokenizer(vocab=ids, **options)
    theirs.add_tokens(["[E1]", COVID])
    theirs.save_pretrained(folder)
    return theirs


SPECIAL = ("<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]")
OF_XLNET = ["<unk>", "<s>", "</s>", "<cls>", "<sep>", "<pad>"]
OF_XLNET += ["<mask>", "<eod>", "<eop>"]
UNIGRAM = (
    "_ _the _cat _caf _cafe s ' \" \u03bf \u03c3 \u03c2 \u4e2d \u56fd _1974, , "
    "_now where every _every $ ` \u0915 \u092f _\u0915 T h e _The i st f fi n "
    "the cat_now \xe9 E 1 [ ] _a b c x"
).replace("_", "\u2581")
SYMBOLS = ["(", ")", "-", ".", "–"]


def _unigram(folder, charsmap=None, name="AlbertTokenizer", special=SPECIAL, **options):
    known = [*special, *SYMBOLS]
    vocab = [(piece, 0.0) for piece in known]
    # No two sums of these scores are equal.
    vocab += [(p, -2 - (17 * k) ** 0.5) for k, p in enumerate(UNIGRAM.split(), 1)]
    options |= {"unk_id": known.index("<unk>"), "_spm_precompiled_charsmap": charsmap}
    theirs = getattr(transformers, name)(vocab=vocab, **options)
    symbols = [transformers.AddedToken(s, normalized=False) for s in SYMBOLS]
    theirs.add_tokens([*symbols, COVID])
    theirs.save_pretrained(folder)
    return theirs


def _xlnet(folder, charsmap):
    return _unigram(folder, charsmap, "XLNetTokenizer", OF_XLNET)


def _compare(theirs, folder, texts=HOSTILE):
    """Checks ids and places of Python and graph, before and after saving."""
    assert not [n for n in folder.iterdir() if n.suffix in (".model", ".txt")]
    ours = load_tokenizer(folder)
    expected = theirs(list(texts), add_special_tokens=False)["input_ids"]
    assert check(ours, texts) == expected
    ours.save(folder.parent / "ours")
    again = load_tokenizer(folder.parent / "ours")
    assert again.encode_batch(texts) == expected
    assert again.fingerprint() == ours.fingerprint()
    return ours


@pytest.mark.slow
@pytest.mark.parametrize(
    ("write", "options", "told"),
    [
        (_bert, {"do_lower_case": True, "strip_accents": False}, {}),
        (_unigram, {"do_lower_case": True, "keep_accents": True}, {}),
        (_xlnet, {}, {"layout": CLS_LAST}),
        pytest.param(
            _bert,
            {"do_lower_case": False, "strip_accents": True},
            {},
            marks=pytest.mark.nightly,
        ),
        pytest.param(
            _unigram,
            {"do_lower_case": False, "keep_accents": False},
            {"joins_quotes": True},
            marks=pytest.mark.nightly,
        ),
    ],
)
def test_a_tokenizer_json_alone(write, options, told, train_model, tmp_path):
    model = sentencepiece_file.ModelProto.FromString(train_model())
    charsmap = model.normalizer_spec.precompiled_charsmap
    ours = _compare(write(tmp_path / "x", charsmap, **options), tmp_path / "x")
    for name, value in {**options, **told}.items():
        assert getattr(ours, name) == value
    assert ours.tokenize("the cat.")[-1] == "."


def test_a_vocabulary_without_a_table(tmp_path):
    texts = ["the cat (1974, x)\u00a0 now.", "a e\u0301 \u0915"]
    _compare(_unigram(tmp_path / "x"), tmp_path / "x", texts)


def test_a_byte_bpe_in_one_file(small_bpe, tmp_path):
    save_for_others(small_bpe, tmp_path / "1", "huggingface")
    theirs = transformers.RobertaTokenizer.from_pretrained(tmp_path / "1")
    added = ["[E1]", transformers.AddedToken("[E2]", lstrip=True), "new york"]
    theirs.add_tokens(added)
    theirs.save_pretrained(tmp_path / "2")
    for name in ("vocab.json", "merges.txt"):
        (tmp_path / "2" / name).unlink(missing_ok=True)
    ours = load_tokenizer(tmp_path / "2")
    text = "The cat  <mask> didn't, at  all. [E1] a  [E2] b new york new  york"
    expected = theirs(text, return_offsets_mapping=True, add_special_tokens=False)
    ids, spans = ours.encode_with_offsets(text)
    assert ids == ours.encode(text) == expected["input_ids"]
    assert spans == expected["offset_mapping"]
    path = tmp_path / "2" / "tokenizer.json"
    content = json.loads(path.read_text("utf-8"))
    del content["pre_tokenizer"]["use_regex"]  # which is true unless it is said
    path.write_text(json.dumps(content), "utf-8")
    assert load_tokenizer(tmp_path / "2").encode(text) == ids


def test_lower_case_of_sentence_transformers(tmp_path):
    theirs = _bert(tmp_path / "x", do_lower_case=False).backend_tokenizer
    steps = [tokenizers.normalizers.Lowercase(), theirs.normalizer]
    theirs.normalizer = tokenizers.normalizers.Sequence(steps)
    theirs.save(str(tmp_path / "tokenizer.json"))
    ours = load_tokenizer(tmp_path)
    for text in ("The CAT sat", "CAF\xc9 caf\xe9 Cafe", "\u4e2d the\u0130"):
        assert ours.encode(text) == theirs.encode(text, add_special_tokens=False).ids
    content = json.loads((tmp_path / "tokenizer.json").read_text("utf-8"))
    for processor in (None, {"type": "BertProcessing"}):  # which name no rows
        content["post_processor"] = processor
        (tmp_path / "tokenizer.json").write_text(json.dumps(content), "utf-8")
        assert load_tokenizer(tmp_path).fingerprint() == ours.fingerprint()


@pytest.mark.parametrize(
    ("normalizer", "lowers"),
    [
        (None, False),
        ({"type": "Lowercase"}, True),
        ({"type": "BertNormalizer", "lowercase": False}, False),
        ({"type": "Sequence", "normalizers": [{}, {"lowercase": True}]}, True),
    ],
)
def test_the_casing_of_a_normalizer(tmp_path, normalizer, lowers):
    (tmp_path / "vocab.txt").write_text(wordpiece([]))
    (tmp_path / "tokenizer.json").write_text(json.dumps({"normalizer": normalizer}))
    assert load_tokenizer(tmp_path).do_lower_case is lowers


WORDS = ["the", "cat", "sat", "on", "film", "is", "good", "mat", "caf\xe9", "cafe"]
TEXTS = ["the cat sat on the mat on film cat is good", "the cat", "mat is on the cat"]
OTHERS = ["good film is on", "the mat sat on the good cat is film", "cat"]
_CONFIG = "tokenizer_config.json"


def _bert_lines(folder, **settings):
    """Writes a directory of BERT in several files; returns it."""
    (folder / "vocab.txt").write_text(wordpiece(WORDS), "utf-8")
    (folder / "config.json").write_text('{"model_type": "bert"}')
    config = {"tokenizer_class": "BertTokenizer", "do_lower_case": True}
    (folder / _CONFIG).write_text(json.dumps({**config, **settings}))
    return folder


@pytest.mark.parametrize("others", [None, OTHERS])
def test_texts_keep_their_ends(others, tmp_path):
    folder = _bert_lines(tmp_path, truncation_side="left")
    ours, vocab = load_tokenizer(folder), str(folder / "vocab.txt")
    theirs = transformers.BertTokenizer(vocab=vocab, truncation_side="left")
    expected = theirs(TEXTS, others, max_length=8, truncation=True)["input_ids"]
    found = ours(TEXTS, others, padding=False, max_length=8)["input_ids"]
    assert sorted(map(len, found)) == sorted(map(len, expected))
    if others is None:
        assert found == expected
        assert found[0] == [2, 12, 8, 9, 6, 10, 11, 3]
    graph = TextFeatures(ours, 8)(*map(tf.constant, filter(None, (TEXTS, others))))
    assert [[i for i in row if i] for row in graph["input_ids"].numpy()] == found
    rows = tokenize_texts(TEXTS, others, ours, 8)
    ids = np.split(rows.ids, rows.starts[1:])
    assert [row.tolist() for row in ids] == found
    # It counts for what is kept of its texts.
    assert ours.fingerprint() != load_tokenizer(folder / "vocab.txt").fingerprint()
    cut = {"direction": "Left", "max_length": 8, "strategy": "LongestFirst"}
    (_bert_lines(folder) / "tokenizer.json").write_text(json.dumps({"truncation": cut}))
    assert load_tokenizer(folder).rules.keeps_ends


def test_lists_of_special_tokens():
    for told, expected in (
        (None, []),
        ("a", ["a"]),
        ({"content": "a", "lstrip": False}, ["a"]),
        ({"x": "a", "y": {"content": "b"}}, ["a", "b"]),
        (["a", {"content": "b"}], ["a", "b"]),
    ):
        assert huggingface._names(told) == expected


def test_what_changes_nothing(tmp_path):
    folder = _bert_lines(tmp_path)
    plain = load_tokenizer(folder)
    theirs = transformers.BertTokenizer(vocab=str(folder / "vocab.txt"))
    theirs.save_pretrained(folder / "again")
    written = json.loads((folder / "again" / _CONFIG).read_text())
    old = {
        "do_basic_tokenize": True,
        "never_split": None,
        "max_length": 128,
        "stride": 0,
        "truncation_strategy": "longest_first",
        "name_or_path": "x",
        "padding_side": "right",
        "truncation_side": "right",
        "model_max_length": 9,
        "clean_up_tokenization_spaces": True,
        "additional_special_tokens": [],
        "special_tokens_map_file": None,
        "cls_token": {"content": "[CLS]"},
    }
    found = load_tokenizer(_bert_lines(folder, **{**written, **old}))
    assert found.fingerprint() == plain.fingerprint()
    special = _bert_lines(folder, additional_special_tokens=["film"])
    assert load_tokenizer(special).encode("a filmis") == [1, 9, 10]


def test_tokens_that_a_list_adds(tmp_path):
    """They are found whatever their case, the first of equal ones; not special ones."""
    folder, first = _bert_lines(tmp_path), 5 + len(WORDS)
    added = {"Film": first, "FILM": first + 1, "[E1]": first + 2}
    (folder / "added_tokens.json").write_text(json.dumps(added))
    special = {"additional_special_tokens": ["[E1]"]}
    (folder / "special_tokens_map.json").write_text(json.dumps(special))
    found = load_tokenizer(folder).encode("film FILM [E1] [e1]")
    assert found == [first, first, first + 2, 1, 1, 1]


# "new york" has white space, "caf\u00e9" an accent, "[E1]" what expressions mean.
# The last two are read as "nee" and as nothing where accents are dropped.
NORMALIZED = ["Covid", "covid19", "caf\u00e9", "new york", "\ud55c", "ne\u0301e"]
NORMALIZED += ["\u0301"]
LITERAL = ["[E1]", "[E1", "$.$", "\u4e2d\u56fd"]
WITH_ADDED = [
    "the [E1] cat [E1]is covid",
    "[E1]covid19COVID CAFE cafe\u0301[E1",
    "New \t York; new york\ud55c\u1112\u1161\u11ab",
    "\u4e2d\u56fd\u4e2d the$.$$.$",
    "",
    " [E1] ",
    "the cat, [CLS] [MASK]",
    "n\u00e9e nee ne\u0301e",
]


@pytest.mark.parametrize("kind", ["sentencepiece", "cased sentencepiece", "wordpiece"])
def test_added_tokens_are_found_and_in_the_graph_too(kind, train_model, tmp_path):
    """In a directory as transformers 4 writes it."""
    if kind == "wordpiece":
        pieces = ["the", "cat", "is", "a", "##1", "9", "中", "[", "]", "co", "##vid"]
        (tmp_path / "vocab.txt").write_text(wordpiece(pieces), "utf-8")
        first = 5 + len(pieces)
    else:
        (tmp_path / "spiece.model").write_bytes(train_model())
        first = load_tokenizer(tmp_path / "spiece.model").vocab_size
    special = {"4": {"content": "[MASK]", "normalized": False, "special": True}}
    added = {
        str(index): {"content": t, "normalized": t in NORMALIZED, "special": False}
        for index, t in enumerate([*LITERAL, *NORMALIZED], first)
    }
    config = {"tokenizer_class": "BertTokenizer", "added_tokens_decoder": special}
    config["added_tokens_decoder"] |= added
    config["do_lower_case"] = not kind.startswith("cased")
    (tmp_path / _CONFIG).write_text(json.dumps(config))
    tokenizer = load_tokenizer(tmp_path)
    rows = map(tokenizer.encode, WITH_ADDED)
    found = [[i - first for i in row if i >= first] for row in rows]
    assert found[3:] == [[3, 2, 2], [], [0], [], [9, 9, 9]]
    expected = check(tokenizer, WITH_ADDED)
    sizes = [len(tokenizer.tokenize(text)) for text in WITH_ADDED]
    assert sizes == [*map(len, expected)]
    few = InGraphTokenizer(tokenizer, max_tokens=3)(tf.constant(WITH_ADDED)).to_list()
    assert [row[:3] for row in few] == [ids[:3] for ids in expected]
    places = dict(zip(*tokenizer.encode_with_offsets("a [E1] the"), strict=True))
    assert places[first] == (2, 6)

    ids = tokenizer("the [E1]cat")["input_ids"][0]
    assert tokenizer.decode(ids, skip_special_tokens=True) == "the [E1] cat"
    assert tokenizer.convert_ids_to_tokens(first) == "[E1]"
    assert tokenizer.convert_tokens_to_ids("[E1]") == first
    assert tokenizer.word_starts()[first:].all()
    assert tokenizer.vocab_size == len(tokenizer.word_starts()) == first + len(added)
    plain = load_tokenizer(tmp_path / tokenizer.file_name, tokenizer.do_lower_case)
    assert plain.fingerprint() != tokenizer.fingerprint()


def _roberta_json(folder):
    byte_bpe(folder)
    data = load_tokenizer(folder).file_bytes
    for path in folder.iterdir():
        path.unlink()
    (folder / "tokenizer.json").write_bytes(data)


def _deberta_json(folder):
    deberta_pieces(folder)
    (folder / "config.json").write_text('{"model_type": "deberta-v2"}')
    transformers.DebertaV2Tokenizer.from_pretrained(folder).save_pretrained(folder)


def _set(part, **entries):
    return {"tokenizer.json": lambda content: content[part].update(entries)}


def _all(change):
    return {"tokenizer.json": change}


def _two_lines(content):
    vocabulary = content["model"]["vocab"]
    vocabulary["a\nb"] = len(vocabulary)


def _segment_of_a_pair(content):
    content["post_processor"]["pair"][-2]["Sequence"]["type_id"] = 0


def _composed(content):
    steps = [content["normalizer"], {"type": "NFC"}]
    content["normalizer"] = {"type": "Sequence", "normalizers": steps}


_REFUSED = {
    _bert: [
        (_set("model", type="WordLevel"), 'the model "WordLevel"'),
        (_set("model", unk_token="?"), "the model .*put the vocab.txt"),
        (_set("normalizer", handle_chinese_chars=False), "put the vocab.txt"),
        (_set("pre_tokenizer", type="Whitespace"), "the pre_tokenizer"),
        (_all(lambda c: c["model"]["vocab"].update(z=999)), "gaps between its ids"),
        (_all(_two_lines), "of two lines"),
        (_all(lambda c: c.update(normalizer=None)), "holds a damaged tokenizer"),
        (_set("model", vocab=[]), "holds a damaged tokenizer"),
        (_set("normalizer", lowercase=False), "=true was asked for"),
        (_all(_segment_of_a_pair), "has the post_processor"),
        (_all(_composed), "has the normalizers .*NFC"),
    ],
    _unigram: [
        (_set("model", byte_fallback=True), "byte_fallback true"),
        (_set("model", unk_id=0), 'the unknown piece "<pad>"'),
        (_all(lambda c: c["model"]["vocab"].append(["", -1.0])), "empty or twice"),
        (_all(lambda c: c["model"]["vocab"].append(["where", -1.0])), "empty or twice"),
        (_all(lambda c: c["pre_tokenizer"]["pretokenizers"].pop(0)), "the pre_tok"),
        (_all(lambda c: c["normalizer"]["normalizers"].reverse()), "the normalizers"),
    ],
    _roberta_json: [
        (_set("model", ignore_merges=True), "the model .*ignore_merges"),
        (_set("model", dropout=0.1), "the model .*dropout"),
        (_all(lambda c: c.update(normalizer={"type": "NFD"})), "the normalizer .*NFD"),
        (_set("pre_tokenizer", use_regex=False), "the pre_tokenizer"),
        (
            _all(lambda c: c["pre_tokenizer"].pop("add_prefix_space")),
            "add_prefix_space",
        ),
        (_all(lambda c: c.update(post_processor={"type": "X"})), 'post_processor "X"'),
        (_set("model", merges=[["a"]]), "damaged"),
        (_all(lambda c: c["model"]["vocab"].pop("a")), r"the ids 0 to \d+, each once"),
    ],
    byte_bpe: [
        ({"merges.txt": b"#version: 0.2\nt h e\n"}, "holds a damaged tokenizer"),
        ({"merges.txt": b"q zzz\n"}, r"damaged tokenizer \(KeyError\('.?zzz'"),
        ({"merges.txt": b"\xff"}, "is not UTF-8"),
        ({"merges.txt": None}, r"merges\.txt"),
        ({"vocab.json": b"[]"}, "holds a damaged tokenizer"),
        ({"vocab.json": b'{"a": 1}'}, "the ids 0 to 0"),
        ({"vocab.json": b'{"<s>": 0}'}, "no pieces for 256 of the 256 bytes"),
        (
            {"vocab.json": lambda ids: ids.update({"[MASK]": ids.pop("<mask>")})},
            "has no piece '<mask>'; RoBERTa needs <pad>",
        ),
    ],
    modern_bpe: [
        (_all(lambda c: c["post_processor"]["pair"].pop()), "the post_processor")
    ],
    _deberta_json: [({"spm.model": None}, r"put the spm\.model beside it")],
    _bert_lines: [
        ({"sentencepiece.bpe.model": tie_pieces(), "vocab.txt": None}, "the pieces <u"),
        ({"vocab.txt": "é".encode("latin-1")}, "vocab.txt is not UTF-8"),
        ({"tokenizer_78b.model": b""}, r"several \(vocab.txt, tokenizer_78b.model\)"),
        ({"tokenizer.json": {"normalizer": {"lowercase": "false"}}}, "holds a damaged"),
        (
            {"tokenizer.json": {"padding": {"direction": "Left"}}},
            "side to 'left', unde",
        ),
        (
            {_CONFIG: {"tokenizer_class": None}}
            | {"config.json": {"tokenizer_class": "KoBertTokenizer"}},
            "config.json sets tokenizer_class to 'KoBert",
        ),
        # Lists of added tokens, alone and against each other.
        ({"added_tokens.json": {"b": 16}}, "the id 16, but the next free one is 15"),
        ({"added_tokens.json": {"b": 5}}, "the id 5, which is 'the' in the vocabulary"),
        ({"added_tokens.json": {"b": "x"}}, "damaged tokenizer"),
        ({"added_tokens.json": {"": 15}}, "damaged tokenizer"),
        ({"added_tokens.json": {"b": -1}}, "damaged tokenizer"),
        (_all({"added_tokens": [{"content": 5, "id": 15}]}), "damaged tokenizer"),
        ({"tokenizer.json": {"added_tokens": [{"id": 15}]}}, "damaged tokenizer"),
        (
            _all({"added_tokens": [{"content": "b", "id": 15, "single_word": True}]}),
            "'b' as a whole word only",
        ),
        (
            {"added_tokens.json": {"b": 15}}
            | _all({"added_tokens": [{"content": "b", "id": 16}]}),
            "'b' the id 15, another .* 16",
        ),
        *(
            ({_CONFIG: settings}, message)
            for settings, message in (
                ({"cls_token": "<s>"}, "sets cls_token to '<s>'; .*"),
                (
                    {"tokenizer_class": "BertJapaneseTokenizer"},
                    "anese.*', whose pieces",
                ),
                ({"auto_map": {"AutoTokenizer": ["a.B", None]}}, "sets auto_map to"),
                ({"word_tokenizer_type": "mecab"}, "'mecab', expected 'basic'"),
                ({"do_basic_tokenize": False}, "tokenize to False, expected True"),
                ({"sp_model_kwargs": {"enable_sampling": True}}, "sp_model_kwargs"),
                ({"truncation_side": "middle"}, "expected 'left' or 'right'"),
                (
                    {"normalization": True},
                    "normalization to True, which albert_tf does",
                ),
                ({"additional_special_tokens": ["<e1>"]}, "'<e1>' of .* has no id"),
                ({"joins_quotes": "yes"}, "joins_quotes to 'yes', expected true or"),
            )
        ),
    ],
}


@pytest.mark.parametrize(
    ("write", "changes", "message"),
    [(write, *row) for write, rows in _REFUSED.items() for row in rows],
)
def test_what_is_refused(write, changes, message, tmp_path):
    write(tmp_path)
    for name, change in changes.items():
        path = tmp_path / name
        if change is None:
            path.unlink(missing_ok=True)
        elif isinstance(change, bytes):
            path.write_bytes(change)
        else:
            content = json.loads(path.read_text("utf-8")) if path.exists() else {}
            content.update(change) if isinstance(change, dict) else change(content)
            path.write_text(json.dumps(content), "utf-8")
    with pytest.raises(UserError, match=message):
        load_tokenizer(tmp_path)
