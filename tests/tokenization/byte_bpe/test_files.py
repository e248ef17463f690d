"""The files of a byte-level BPE: read, written, and refused."""

import json
import shutil

import pytest
import transformers

from albert_tf.errors import UserError
from albert_tf.tokenization import load_tokenizer
from albert_tf.tokenization.huggingface import save_for_others
from albert_tf.tokenization.loading import saved_files

TEXT = "The cat  <mask> didn't bark, at  all."


@pytest.fixture
def folder(small_files, tmp_path):
    for name in ("vocab.json", "merges.txt"):
        shutil.copy(small_files / name, tmp_path)
    return tmp_path


def test_saving(small_bpe, tmp_path):
    small_bpe.save(tmp_path / "saved")
    config = json.loads((tmp_path / "saved/tokenizer_config.json").read_text())
    assert (config["kind"], config["file"]) == ("byte_bpe", "tokenizer.json")
    save_for_others(small_bpe, tmp_path / "theirs", "huggingface")
    names = {"vocab.json", "merges.txt", "tokenizer.json", "tokenizer_config.json"}
    assert saved_files(tmp_path / "theirs") == names


def test_one_file_of_transformers(folder, tmp_path, small_bpe):
    save_for_others(small_bpe, tmp_path / "1", "huggingface")
    theirs = transformers.RobertaTokenizer.from_pretrained(tmp_path / "1")
    added = ["[E1]", transformers.AddedToken("[E2]", lstrip=True), "new york"]
    theirs.add_tokens(added)
    theirs.save_pretrained(tmp_path / "2")
    for name in ("vocab.json", "merges.txt"):
        (tmp_path / "2" / name).unlink(missing_ok=True)
    ours = load_tokenizer(tmp_path / "2")
    text = f"{TEXT} [E1] a  [E2] b new york new  york"
    assert ours.encode(text) == theirs(text, add_special_tokens=False)["input_ids"]
    spans = theirs(text, return_offsets_mapping=True, add_special_tokens=False)
    assert ours.encode_with_offsets(text)[1] == spans["offset_mapping"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c["model"].update(ignore_merges=True), "the model .*ignore_merges"),
        (lambda c: c["model"].update(dropout=0.1), "the model .*dropout"),
        (lambda c: c.update(normalizer={"type": "NFD"}), "the normalizer .*NFD"),
        (lambda c: c["pre_tokenizer"].update(use_regex=False), "the pre_tokenizer"),
        (lambda c: c.update(post_processor={"type": "X"}), 'the post_processor "X"'),
        (lambda c: c["model"].update(merges=[["a"]]), "damaged"),
        (lambda c: c["model"]["vocab"].pop("a"), r"the ids 0 to \d+, each once"),
    ],
)
def test_what_a_tokenizer_json_cannot_have(change, message, small_bpe, tmp_path):
    path = tmp_path / "tokenizer.json"
    path.write_bytes(small_bpe.file_bytes)
    load_tokenizer(path.parent)
    content = json.loads(path.read_bytes())
    change(content)
    path.write_text(json.dumps(content))
    with pytest.raises(UserError, match=message):
        load_tokenizer(tmp_path)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("merges.txt", b"#version: 0.2\nt h e\n", "holds a damaged tokenizer"),
        ("merges.txt", b"q zzz\n", r"damaged tokenizer \(KeyError\('.?zzz'"),
        ("merges.txt", b"\xff", "is not UTF-8"),
        ("merges.txt", None, r"merges\.txt"),
        ("vocab.json", b"[]", "holds a damaged tokenizer"),
        ("vocab.json", b'{"a": 1}', "the ids 0 to 0"),
        ("vocab.json", b'{"<s>": 0}', "no pieces for 256 of the 256 bytes"),
        ("vocab.json", "[MASK]", "has no piece '<mask>'; RoBERTa needs <pad>"),
    ],
)
def test_damaged_files(name, content, message, folder):
    path = folder / name
    if content is None:
        path.unlink()
    elif isinstance(content, str):
        path.write_text(path.read_text("utf-8").replace("<mask>", content), "utf-8")
    else:
        path.write_bytes(content)
    with pytest.raises(UserError, match=message):
        load_tokenizer(folder)
