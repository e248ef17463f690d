"""Text and vocabulary that do not fit together are told of, or refused."""

import collections
import dataclasses
import types

import numpy as np
import pytest

from albert_tf.errors import UserError
from data_pipeline.sequences.instances import Window
from data_pipeline.shards import workers
from data_pipeline.text import corpus
from data_pipeline.text import quality
from tests.vocabularies import wordpiece as vocabulary

CHINESE = "我们在这里看见一条河。\n河边的树很高。\n\n"
ENGLISH = "the cat sat\non the mat\n\n"


@pytest.fixture
def create(create, tmp_path):
    """Makes unmasked records of a text; returns what dataset_info.json holds."""

    def run(text, **changes):
        path = tmp_path / "text.txt"
        if not path.exists():  # of another second, it would be another corpus
            path.write_bytes(text.encode() if isinstance(text, str) else text)
        return create(**{"masking": "dynamic", "input_file": str(path), **changes}).info

    return run


@pytest.fixture
def wordpiece(tmp_path):
    """Flags of a vocabulary with a few English words."""
    path = tmp_path / "vocab.txt"
    path.write_text(vocabulary([*ENGLISH.split(), "##s"]))
    return {"spm_model_file": None, "vocab_file": str(path)}


def test_the_file_with_most_mistakes_is_named():
    counts = {"bad": 9, "bad in a": 4, "bad in b c": 5, "worse in d": 7}
    assert quality._where(counts, "bad") == " (most in b c)"
    assert quality._where(counts, "bad", known="a") == " (most in b c)"
    assert quality._where(counts, "bad", known="b c") == ""
    assert quality._where({"bad": 9}, "bad") == ""


def test_shares():
    """A sequence has three special tokens, two without a pair of texts."""
    counts = {"tokens": 26, "sequences": 2, "tokens truncated": 5, "tokens repeated": 4}
    counts |= {"text tokens": 7, "unknown tokens": 2, "characters": 9}
    counts |= {"replaced characters": 3, "documents": 8, "documents of one sentence": 3}
    found = {"unknown": 0.285714, "replaced": 0.333333, "one_sentence_documents": 0.375}
    for objective, truncated, repeated in (
        ("sop", 0.2, 0.2),
        ("none", 0.185185, 0.181818),
    ):
        expected = {**found, "truncated": truncated, "repeated": repeated}
        assert quality.shares(collections.Counter(counts), objective) == expected
    nothing = dict.fromkeys([*found, "truncated"], 0.0)
    assert quality.shares(collections.Counter(), "sop") == nothing


# As many mistakes as are passed over.
_FEW = {"text tokens": 100, "unknown tokens": 5, "characters": 10_000}
_FEW |= {"replaced characters": 10, "tokens": 120, "tokens truncated": 10}
_FEW |= {"sequences": 10, "pairs cut from one sentence": 5}
_FEW |= {"documents": 10, "documents of one sentence": 5}
_NOT_UTF8 = "0.1% of the characters stand for bytes that are not UTF-8"


@pytest.mark.parametrize("objective", ["sop", "none"])
@pytest.mark.parametrize(
    ("changes", "warning"),
    [
        ({}, None),
        ({"unknown tokens": 6}, "6.0% of the tokens are unknown to v.txt; was it made"),
        ({"replaced characters": 11}, f"{_NOT_UTF8}; is the text in another"),
        ({corpus.INVALID: 1, f"{corpus.INVALID} in a": 1}, f"{_NOT_UTF8} (most in a);"),
        ({corpus.WITHOUT_TEXT: 1}, "1 JSON lines without the field 'x' were left out"),
        ({"tokens truncated": 13}, "% of the tokens were cut off, because sentences"),
        ({"documents of one sentence": 6}, "most documents hold a single sentence"),
        ({"pairs cut from one sentence": 6}, "most pairs were cut from a single"),
    ],
)
def test_more_mistakes_than_that_are_told_of(changes, warning, objective, caplog):
    options = types.SimpleNamespace(
        pair_objective=objective, vocabulary="v.txt", text_field="x", max_seq_length=9
    )
    quality.warn(collections.Counter({**_FEW, **changes}), options)
    told = [record.getMessage() for record in caplog.records]
    if warning is None or (objective == "none" and "single" in warning):
        assert told == []
    else:
        assert len(told) == 1 and warning in told[0]


def test_changes_and_another_encoding(caplog):
    counts = collections.Counter({"characters": 1000, "replaced characters": 300})
    quality.warn_of_changes(2, counts, "change")
    assert caplog.text == ""
    quality.warn_of_changes(3, counts, "change")
    assert "0.3% of the characters change" in caplog.text
    quality.check_encoding(counts, "a", "count")
    assert "30.0% of the characters stand for bytes" in caplog.text
    counts["replaced characters"] += 1
    with pytest.raises(UserError, match=r"30.1% .* of a are .*, too many to count; co"):
        quality.check_encoding(counts, "a", "count")


def test_the_sample_is_the_beginnings_of_some_files(tmp_path, monkeypatch):
    """Of 33 files, every third one; of each, documents until it has ten characters."""
    monkeypatch.setattr(quality, "_SAMPLED_CHARACTERS", 110)
    for number in range(33):
        (tmp_path / f"{number:05}").write_text(f"{number:05}\n\nfghij\n\nk\n")
    sampled = []

    def encode_flat(texts):
        sampled.extend(texts)
        return np.zeros(0, np.int32), np.zeros(len(texts), np.int32)

    tokenizer = types.SimpleNamespace(
        kind="byte_bpe", unk_id=1, count_stripped=len, encode_flat=encode_flat
    )
    options = types.SimpleNamespace(
        **{"reader": corpus.Reader, "tokenizer": tokenizer, "input_file": "a"},
        **{"max_unknown": 0.0, "pair_objective": "none", "objective": "masked_lm"},
    )
    quality.check_sample(options, corpus.find_files(str(tmp_path)))
    expected = [(f"{number:05}", "fghij") for number in range(0, 33, 3)]
    assert sampled == [text for texts in expected for text in texts]


def test_figures(create, wordpiece, caplog):
    """Six tokens of which two are unknown; twenty characters with one replaced."""
    info = create(
        b"the cat dog\non t\xff mat\n\n" * 40, **wordpiece, max_unknown=0.333333
    )
    assert info["shares"]["unknown"] == round(1 / 3, 6)
    assert info["shares"]["replaced"] == 0.05
    assert "33.3% of the tokens are unknown to" in caplog.text
    assert "5.0% of the characters stand for bytes that are not UTF-8" in caplog.text
    assert "text.txt); is the text in another encoding?" in caplog.text


def test_long_sentences_are_told_of(create, caplog, tokenizer):
    """Of each of two sentences, the 29 tokens that A and B have together are kept."""
    sentence = "the cat " * 29
    info = create(f"{sentence}\n" * 2, dupe_factor=1, short_seq_prob=0.0)
    tokens = 2 * len(tokenizer.encode(sentence))
    assert info["special_cases"]["tokens truncated"] == tokens - 58
    assert info["shares"]["truncated"] == round((tokens - 58) / tokens, 6) > 0.4
    early, late = (r.getMessage() for r in caplog.records if "cut off" in r.message)
    share = f"{100 * info['shares']['truncated']:.1f}% of the tokens"
    assert early.startswith(f"{share} will be cut off")
    assert late.startswith(f"{share} were cut off")
    for message in (early, late):
        assert "--max_seq_length=32; raise it, or split long sentences" in message


def test_the_share_that_pairs_lose(make_options):
    """Each of two sentences of 40 tokens makes one of 29; no separator follows them."""
    ids, starts = np.arange(100, 180, dtype=np.int32), np.ones(80, bool)
    window = Window(ids, starts, [0, 40, 80], [0, 2])
    share = quality._cut_share(window, make_options(short_seq_prob=0.0))
    assert share == round(22 / 80, 6)


@pytest.mark.parametrize("breaks", [False, True])
def test_what_two_sentences_lose_is_told_of_before_the_work(create, caplog, breaks):
    """Each fits into a sequence, a chunk of two does not; broken, nothing is cut."""
    flags = {"sentence_objective": "none", "break_sentences": True} if breaks else {}
    text = "the cat the cat the cat\n" * 40
    share = create(text, dupe_factor=1, short_seq_prob=0.0, **flags)["shares"]
    told = [r.getMessage() for r in caplog.records if "cut off" in r.message]
    if breaks:
        assert (share["truncated"], told) == (0, [])
        return
    early, late = told
    said = f"{100 * share['truncated']:.1f}% of the tokens"
    assert early.startswith(f"{said} will be cut off")
    assert late.startswith(f"{said} were cut off")


@pytest.mark.parametrize("objective", ["sop", "none"])
def test_documents_of_one_sentence(create, caplog, objective):
    text = "\n\n".join(f"the cat number {n} sat on the mat" for n in range(50))
    info = create(text, dupe_factor=1, sentence_objective=objective)
    assert info["shares"]["one_sentence_documents"] == 1.0
    message = "most documents hold a single sentence"
    assert (message in caplog.text) == (objective != "none")
    if objective == "sop":
        assert info["special_cases"]["pairs cut from one sentence"] == 50


def test_what_only_the_whole_text_shows_is_kept(create, out, monkeypatch):
    """The beginning is like the vocabulary; the same command goes on with all files."""
    monkeypatch.setattr(quality, "_SAMPLED_CHARACTERS", 100)
    text = ENGLISH * 20 + CHINESE * 200
    with pytest.raises(UserError, match="unknown to .*, more than --max_unknown=0."):
        create(text, num_shards=2)
    assert len(list(out.glob("x-*-of-00002.tfrecord"))) == 2
    assert not (out / "dataset_info.json").exists()
    monkeypatch.delattr(workers, "write_shard")
    info = create(text, num_shards=2, max_unknown=1.0)
    assert info["shares"]["unknown"] > 0.3


def test_accents_that_are_lost(wordpiece, tmp_path, make_options, caplog):
    text = "the cäts sät. the dög rän.\n" * 99
    (tmp_path / "text.txt").write_text(text, "utf-8")
    path = str(tmp_path / "text.txt")
    options = make_options(input_file=path, max_unknown=1.0, **wordpiece)
    files = corpus.find_files(path)
    quality.check_sample(options, files)
    assert "15.4% of the characters lose an accent" in caplog.text
    caplog.clear()
    quality.check_sample(dataclasses.replace(options, do_lower_case=False), files)
    assert "lose an accent" not in caplog.text
