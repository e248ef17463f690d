"""Data sets that can be read together, and for training as it is asked for."""

import json
import pathlib

import pytest

from albert_tf.errors import UserError
from albert_tf.tokenization import load_tokenizer
from albert_tf.tokenization.sentencepiece import SentencePieceTokenizer
from albert_tf.tokenization.tokenizer import TextRules
from data_pipeline.create_pretraining_data import create_pretraining_data

KINDS = pytest.mark.parametrize("kind", ["static", "dynamic"])


@pytest.mark.parametrize(
    ("kind", "changes", "message"),
    [
        ("static", {"max_seq_length": 64}, "with max_seq_length=32, but training asks"),
        (
            "dynamic",
            {"max_seq_length": 16},
            "with max_seq_length=32, but training asks",
        ),
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
        ("static", {"input_file": "no/such/*"}, "No pretraining data matches"),
    ],
)
def test_data_that_does_not_fit(make_dataset, kind, changes, message):
    with pytest.raises(UserError, match=message):
        make_dataset(kind, **changes)


@pytest.mark.parametrize("pattern", ["", "/*"])
def test_folders_are_searched_for_records(
    count, make_dataset, make_options, out, pattern
):
    counts = create_pretraining_data(make_options(held_out_fraction=0.2))
    (pathlib.Path(out) / "x-9.tfrecord.incomplete").write_bytes(b"half")
    dataset = make_dataset(input_file=f"{out}{pattern}", training=False)
    assert count(dataset) == counts["train"]["sequences"]


def test_a_folder_holds_what_its_description_lists(
    count, make_dataset, make_options, out
):
    folder = out.with_name("brackets[1]")
    options = make_options(output_file=str(folder / "examples.tf_record"))
    counts = create_pretraining_data(options)["train"]
    (folder / "old.tfrecord").write_bytes(b"of an earlier data set")
    assert (
        count(make_dataset(input_file=str(folder), training=False))
        == (counts["sequences"])
    )
    (folder / "examples.tf_record").unlink()
    with pytest.raises(UserError, match=r"lists examples\.tf_record, which is missing"):
        make_dataset(input_file=str(folder))


def test_folder_without_records(make_dataset, tmp_path):
    (tmp_path / "empty").mkdir()
    for name, shown in (("empty", "empty'"), ("empt*", r"empt\*'")):
        with pytest.raises(UserError, match=f"No pretraining data matches .*{shown}"):
            make_dataset(input_file=str(tmp_path / name))


def test_other_tokenizer_is_refused(make_dataset, model_file):
    cased = load_tokenizer(model_file, do_lower_case=False)
    with pytest.raises(UserError, match="was made with another tokenizer"):
        make_dataset("static", tokenizer=cased)
    accented = SentencePieceTokenizer(
        cased.file_bytes, rules=TextRules(keep_accents=True)
    )
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


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"do_lower_case": False}, "other was made with another tokenizer"),
        (
            {"max_predictions_per_seq": 7},
            "other was made with max_predictions_per_seq=7",
        ),
    ],
)
@pytest.mark.parametrize("described", [True, False])
def test_each_data_set_has_to_fit(
    make_dataset, make_options, tmp_path, changes, message, described
):
    make_dataset("static")
    other = tmp_path / "other" / "x"
    create_pretraining_data(make_options(output_file=str(other), **changes))
    if not described:
        (tmp_path / "static" / "dataset_info.json").unlink()
        (tmp_path / "static" / "SHA256SUMS").unlink()
    with pytest.raises(UserError, match=message):
        make_dataset(input_file=f"{tmp_path}/static/x-*,{other}")


def test_official_files_without_description(make_dataset, tmp_path, caplog):
    make_dataset("static")
    (tmp_path / "static" / "dataset_info.json").unlink()
    (tmp_path / "static" / "SHA256SUMS").unlink()
    assert next(iter(make_dataset("static")))["input_ids"].shape == (8, 32)
    assert "nothing checks that the files fit" in caplog.text
