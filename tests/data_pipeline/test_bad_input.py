"""Each bad input has one clear outcome and leaves nothing half-written."""

import math
import shutil

import pytest
import tensorflow as tf

from albert_tf.errors import UserError
from data_pipeline.create_pretraining_data import create_pretraining_data


def test_existing_output_is_kept(make_options, made, out, digests):
    shutil.copytree(made(), out)
    with pytest.raises(UserError, match="already holds a data set"):
        create_pretraining_data(make_options(random_seed=1))
    assert digests(out) == digests(made())


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


def test_text_without_a_pair(make_options, out, tmp_path):
    (tmp_path / "blank.txt").write_text("a\n\na\n")
    options = make_options(input_file=str(tmp_path / "blank.txt"), num_shards=2)
    with pytest.raises(UserError, match="holds too little text to train on: 4 tok"):
        create_pretraining_data(options)
    assert list(out.iterdir()) == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"masked_lm_prob": math.nan}, "--masked_lm_prob=nan: expected at least 0"),
        ({"across_documents": False}, "--across_documents=False needs"),
        ({"break_sentences": True}, "--break_sentences=True needs"),
        ({"bi_data": True}, "--bi_data=True needs --objective=permutation_lm; leave"),
        ({"objective": "permutation_lm", "ngram": 5}, "--ngram=5 needs --objective="),
    ],
)
def test_bad_options(make_options, changes, message):
    with pytest.raises(UserError, match=message):
        make_options(**changes).check()
