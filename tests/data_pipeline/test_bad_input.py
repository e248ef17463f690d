"""Each bad input has one clear outcome and leaves nothing half-written."""

import json
import math

import pytest
import tensorflow as tf

from albert_tf.errors import UserError
from data_pipeline.create_pretraining_data import create_pretraining_data


def test_existing_output_is_kept(make_options, out, digests):
    create_pretraining_data(make_options())
    before = digests(out)
    with pytest.raises(UserError, match="already holds a data set"):
        create_pretraining_data(make_options(random_seed=1))
    assert digests(out) == before


def test_full_disk_leaves_nothing_half_written(make_options, out, monkeypatch):
    class FullDisk(tf.io.TFRecordWriter):
        def write(self, record):
            raise tf.errors.ResourceExhaustedError(
                None, None, "No space left on device"
            )

    monkeypatch.setattr(tf.io, "TFRecordWriter", FullDisk)
    with pytest.raises(UserError, match="cannot be made: No space left on device"):
        create_pretraining_data(make_options())
    assert [p for p in out.rglob("*") if p.is_file()] == []
    monkeypatch.undo()
    create_pretraining_data(make_options())


@pytest.mark.parametrize("text", ["\n\n  \n", "a\n\na\n"])
def test_text_without_a_pair(make_options, out, tmp_path, text):
    (tmp_path / "blank.txt").write_text(text)
    options = make_options(input_file=str(tmp_path / "blank.txt"), num_shards=2)
    with pytest.raises(UserError, match="holds too little text to train on: [04] tok"):
        create_pretraining_data(options)
    assert list(out.iterdir()) == []


def test_fewer_sequences_than_shards(make_options, out, tmp_path, caplog):
    (tmp_path / "tiny.txt").write_text("the cat sat\non the mat\n")
    options = make_options(
        input_file=str(tmp_path / "tiny.txt"), num_shards=4, dupe_factor=1
    )
    create_pretraining_data(options)
    assert "3 of 4 files are empty" in caplog.text
    assert len(list(out.glob("x-*-of-00004.tfrecord"))) == 4


def test_invalid_utf8_is_reported(make_options, out, tmp_path):
    path = tmp_path / "bad.txt"
    path.write_bytes(b"the \xff cat\nthe dog\n" * 20)
    create_pretraining_data(make_options(input_file=str(path)))
    info = json.loads((out / "dataset_info.json").read_text())
    assert info["special_cases"]["lines with invalid UTF-8"] == 20
    assert info["special_cases"][f"lines with invalid UTF-8 in {path}"] == 20


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"max_seq_length": 4}, "--max_seq_length=4: expected at least 8"),
        ({"masked_lm_prob": math.nan}, "--masked_lm_prob=nan: expected at least 0"),
        ({"official_sop": True, "random_next_sentence": True}, "_sop=True needs"),
        ({"across_documents": False}, "--across_documents=False needs"),
        ({"break_sentences": True}, "--break_sentences=True needs"),
        ({"bi_data": True}, "--bi_data=True needs --objective=permutation_lm; leave"),
        ({"objective": "permutation_lm", "ngram": 5}, "--ngram=5 needs --objective="),
        ({"pack": True, "masking": "dynamic"}, "--pack=True needs --masking=static;"),
        ({"held_out_fraction": 1.0}, "too little .* in 0 documents, besides 120 held"),
        ({"spm_model_file": None}, "pass --spm_model_file or --vocab_file"),
    ],
)
def test_bad_options(make_options, changes, message):
    with pytest.raises(UserError, match=message):
        create_pretraining_data(make_options(**changes))


def test_few_predictions_are_warned_of(make_options, caplog):
    make_options(max_seq_length=512, max_predictions_per_seq=20).check()
    assert "pass 77 to predict" in caplog.text
    caplog.clear()
    make_options(max_seq_length=512, max_predictions_per_seq=77).check()
    assert not caplog.text


def test_output_that_cannot_be_written(make_options, tmp_path):
    (tmp_path / "file").write_text("")
    options = make_options(output_file=str(tmp_path / "file" / "x.tfrecord"))
    with pytest.raises(UserError, match="x.tfrecord cannot be made"):
        create_pretraining_data(options)


def test_worker_error_reaches_the_user(make_options, tmp_path):
    folder = tmp_path / "corpus"
    folder.mkdir()
    (folder / "a.txt.gz").write_text("not compressed at all")
    (folder / "b.txt").write_text("the cat\nthe dog\n" * 9)
    options = make_options(input_file=str(folder), num_shards=2, workers=2)
    with pytest.raises(UserError, match="a.txt.gz cannot be read: Not a gzipped file"):
        create_pretraining_data(options)
