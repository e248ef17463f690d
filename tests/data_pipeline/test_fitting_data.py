"""Data sets that can be read together, and for training as it is asked for."""

import json
import pathlib
import shutil

import pytest

from albert_tf.errors import UserError
from albert_tf.tokenization import load_tokenizer
from albert_tf.tokenization.sentencepiece import SentencePieceTokenizer
from albert_tf.tokenization.tokenizer import TextRules


@pytest.mark.parametrize(
    ("kind", "changes", "message"),
    [
        ("static", {"max_seq_length": 64}, "with max_seq_length=32, but training asks"),
        ("static", {"max_predictions_per_seq": 6}, "max_predictions_per_seq=5"),
        ("dynamic", {"max_predictions_per_seq": 4}, "with max_predictions_per_seq=5"),
        (
            "dynamic",
            {"masked_lm_prob": 0.3},
            "masked_lm_prob=0.3 of 32 tokens, .* needs 10 predictions",
        ),
        (
            "dynamic",
            {"masked_lm_prob": 0.3, "max_seq_length": 16},
            "with max_seq_length=32, but training asks",
        ),
    ],
)
def test_data_that_does_not_fit(make_dataset, kind, changes, message):
    with pytest.raises(UserError, match=message):
        make_dataset(kind, **changes)


def test_folders_are_searched_for_records(count, make_dataset, made, tmp_path):
    folder = tmp_path / "brackets[1]"
    shutil.copytree(made(num_shards=3, held_out_fraction=0.2), folder)
    (folder / "x-9.tfrecord.incomplete").write_bytes(b"half")
    info = json.loads((folder / "dataset_info.json").read_text())
    for pattern in ("", "/*"):
        dataset = make_dataset(input_file=f"{folder}{pattern}", training=False)
        assert count(dataset) == info["counts"]["sequences"]
    (folder / "old.tfrecord").write_bytes(b"of an earlier data set")
    dataset = make_dataset(input_file=str(folder), training=False)
    assert count(dataset) == info["counts"]["sequences"]


def test_other_tokenizer_is_refused(make_dataset, model_file):
    model = pathlib.Path(model_file).read_bytes()
    accented = SentencePieceTokenizer(model, rules=TextRules(keep_accents=True))
    with pytest.raises(UserError, match=r"=True\) than .*=True, keep_accents=True\);"):
        make_dataset("static", tokenizer=accented)


def test_data_without_a_segmentation_is_read_with_a_warning(
    make_dataset, model_file, tmp_path, caplog
):
    tokenizer = load_tokenizer(model_file)
    make_dataset("static", tokenizer=tokenizer)
    assert "equally good" not in caplog.text
    description = tmp_path / "static" / "dataset_info.json"
    info = json.loads(description.read_text())
    assert info["tokenizer"]["fingerprint"] == tokenizer.fingerprint()
    info["tokenizer"]["fingerprint"] = tokenizer.earlier_fingerprint()
    description.write_text(json.dumps(info))
    (tmp_path / "static" / "SHA256SUMS").unlink()
    make_dataset("static", tokenizer=tokenizer)
    assert caplog.text.count("equally good sequences") == 1


def test_kinds_do_not_mix(make_dataset, tmp_path):
    make_dataset("static")
    make_dataset("dynamic")
    with pytest.raises(UserError, match="differ in kind"):
        make_dataset(input_file=f"{tmp_path}/static/x-*,{tmp_path}/dynamic/x-*")


def test_each_data_set_has_to_fit(make_dataset, made, tmp_path):
    make_dataset("static")
    cased = shutil.copytree(made(do_lower_case=False), tmp_path / "other")
    for described in (True, False):
        with pytest.raises(UserError, match="other was made with another tokenizer"):
            make_dataset(input_file=f"{tmp_path}/static/x-*,{cased}")
        if described:
            (tmp_path / "static" / "dataset_info.json").unlink()
            (tmp_path / "static" / "SHA256SUMS").unlink()
