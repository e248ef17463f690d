"""Data that was lost or changed after it was made is found, and named."""

import json
import pathlib
import re
import shutil

import pytest
import tensorflow as tf

from albert_tf.errors import UserError
from data_pipeline.create_pretraining_data import create_pretraining_data
from data_pipeline.input_pipeline import pretraining_dataset
from data_pipeline.options import DataOptions
from data_pipeline.records.folders import verify_data

FIRST, SECOND = "x-00000-of-00002.tfrecord", "x-00001-of-00002.tfrecord"


@pytest.fixture(scope="module")
def made(corpus_file, model_file, tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    create_pretraining_data(
        DataOptions(
            input_file=str(corpus_file),
            output_file=str(folder / "x.tfrecord"),
            spm_model_file=model_file,
            num_shards=2,
            max_seq_length=32,
            dupe_factor=1,
            workers=1,
        )
    )
    return folder


@pytest.fixture
def data(made, tmp_path):
    """A folder with a data set of two files."""
    return pathlib.Path(shutil.copytree(made, tmp_path / "data"))


@pytest.fixture
def read(tokenizer):
    return lambda pattern: pretraining_dataset(
        str(pattern), tokenizer, 8, 32, 5, 1, training=False
    )


def cut_at_a_record(path):
    """Leaves the first ten records, which TensorFlow reads without a word."""
    first = list(tf.data.TFRecordDataset(str(path)).take(10).as_numpy_iterator())
    with tf.io.TFRecordWriter(str(path)) as writer:
        for record in first:
            writer.write(record)


def empty(path):
    path.write_bytes(b"")


def replace_by_a_copy(path):
    path.write_bytes((path.parent / FIRST).read_bytes())


@pytest.mark.parametrize("damage", [cut_at_a_record, empty, replace_by_a_copy])
@pytest.mark.parametrize("pattern", ["", "/x-*", f"/{SECOND}"])
def test_a_file_of_another_size(data, read, damage, pattern):
    before = (data / SECOND).stat().st_size
    damage(data / SECOND)
    after = (data / SECOND).stat().st_size
    message = f"{SECOND} has {after:,} bytes, but .*/dataset_info.json says {before:,};"
    with pytest.raises(UserError, match=message):
        read(f"{data}{pattern}")
    read(data / FIRST)


@pytest.mark.parametrize("pattern", ["", "/*", "/x-*", "/x-0000?-of*.tfrecord"])
def test_a_file_that_is_missing(data, read, pattern):
    (data / SECOND).unlink()
    with pytest.raises(UserError, match=f"lists {SECOND}, which is missing; copy it"):
        read(f"{data}{pattern}")
    read(data / FIRST)
    read(data / "x-00000*")


def test_a_file_of_another_data_set(data, read):
    (data / "x-9.tfrecord").write_bytes((data / FIRST).read_bytes())
    with pytest.raises(UserError, match="x-9.tfrecord is not among the files that"):
        read(data / "x-*")
    read(data / "x-*-of-*")


def test_checksums(data, read):
    verify_data(str(data))
    contents = bytearray((data / SECOND).read_bytes())
    contents[1000] ^= 1
    (data / SECOND).write_bytes(contents)
    read(data)
    with pytest.raises(UserError, match=f"{SECOND} has another SHA-256 than .*json"):
        verify_data(str(data))
    verify_data(str(data / FIRST))


def describe(folder, change):
    path = folder / "dataset_info.json"
    info = json.loads(path.read_text())
    change(info)
    path.write_text(json.dumps(info))
    (folder / "SHA256SUMS").unlink()


def test_descriptions_of_earlier_versions_list_names(data, read, caplog):
    describe(data, lambda info: info.update(files=list(info["files"])))
    assert next(iter(read(data)))["input_ids"].shape == (8, 32)
    verify_data(str(data))
    assert "2 of 2 files have no checksum in a dataset_info.json" in caplog.text
    (data / SECOND).unlink()
    with pytest.raises(UserError, match=f"lists {SECOND}, which is missing"):
        read(data / "x-*")


def test_official_files_need_no_description(data, read, caplog):
    (data / "dataset_info.json").unlink()
    (data / "SHA256SUMS").unlink()
    cut_at_a_record(data / SECOND)
    assert next(iter(read(data / "x-*")))["input_ids"].shape == (8, 32)
    verify_data(str(data))
    assert "2 of 2 files have no checksum" in caplog.text


@pytest.mark.parametrize("contents", [b"notes on the data\n" * 9, None])
def test_a_file_that_holds_no_examples_is_named(data, read, contents):
    """Among official files, which no description lists."""
    (data / "dataset_info.json").unlink()
    (data / "SHA256SUMS").unlink()
    path = data / "x-9.tfrecord"
    with tf.io.TFRecordWriter(str(path)) as writer:
        writer.write(b"\xff no example")
    if contents:
        path.write_bytes(contents)
    with pytest.raises(
        UserError, match="x-9.tfrecord is not a TFRecord file of examples"
    ):
        read(data)
    path.write_bytes(b"")
    read(data)


def test_the_lock_of_a_run_is_no_data(data, read):
    (data / ".lock").write_text("{}")
    assert next(iter(read(data / "*")))["input_ids"].shape == (8, 32)


@pytest.mark.parametrize(
    ("keys", "value", "message"),
    [
        (["kind"], None, "holds nothing for kind, expected one of static, dynamic"),
        (["kind"], ["static"], r"holds \['static'\] for kind"),
        (["max_seq_length"], "32", "'32' for max_seq_length, expected a positive"),
        (["max_seq_length"], True, "holds True for max_seq_length"),
        (["max_predictions_per_seq"], 0, "holds 0 for max_predictions_per_seq"),
        (["sentence_objective"], 3, "3 for sentence_objective, expected a string"),
        (["masking"], [], "nothing for masking.masked_lm_prob, expected a number"),
        (["masking", "masked_lm_prob"], 1e999, "inf for masking.masked_lm_prob"),
        (["masking", "ngram"], 2.5, "holds 2.5 for masking.ngram"),
        (["masking", "do_permutation"], "false", "for masking.do_permutation, exp"),
        (["tokenizer"], 3, "holds nothing for tokenizer.kind, expected a string"),
        (["tokenizer", "fingerprint"], None, "nothing for tokenizer.fingerprint"),
        (["files"], None, "nothing for files, expected the names of the files"),
        (["files"], ["../x"], r"'\.\./x' for files, expected names of files"),
        (["files", "a\n"], {}, r"holds nothing for files.'a\\n'.bytes, expected a"),
        (["files", FIRST], {}, f"holds nothing for files.{FIRST}.bytes"),
        (["files", FIRST, "bytes"], -1, f"-1 for files.{FIRST}.bytes, expected a"),
        (["files", FIRST, "sha256"], "no", "expected a SHA-256 in hexadecimal"),
        (["schema_version"], 2, "has schema version 2, expected 1"),
        (["schema_version"], "a\nb", r"has schema version .a\\nb., expected 1"),
    ],
)
def test_descriptions_that_are_damaged(data, read, keys, value, message):
    def change(info):
        for key in keys[:-1]:
            info = info[key]
        info[keys[-1]] = value

    describe(data, change)
    with pytest.raises(UserError, match=f"dataset_info.json .*{message}"):
        read(data)


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        (b"", "is not valid JSON"),
        (b"\xff\xfe{}", "is not valid JSON"),
        (b"[]", "must hold one JSON object"),
        (b"{}", "has schema version None"),
    ],
)
def test_descriptions_that_are_none(data, read, contents, message):
    (data / "dataset_info.json").write_bytes(contents)
    (data / "SHA256SUMS").unlink()
    with pytest.raises(UserError, match=f"dataset_info.json {message}"):
        read(data)


def test_packed_data_says_how_many_pairs_a_row_holds(make_options, out, read):
    create_pretraining_data(make_options(pack=True))
    describe(out, lambda info: info.pop("max_pairs_per_row"))
    message = "holds nothing for max_pairs_per_row, expected a positive whole number"
    with pytest.raises(UserError, match=re.escape(message)):
        read(out)
