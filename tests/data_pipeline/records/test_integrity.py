"""Data that was lost or changed after it was made is found, and named."""

import json
import shutil

import pytest
import tensorflow as tf

from albert_tf.errors import UserError
from data_pipeline.data_set import DataSet
from data_pipeline.input_pipeline import pretraining_dataset

FIRST, SECOND = "x-00000-of-00002.tfrecord", "x-00001-of-00002.tfrecord"
SHARE = "masked_lm_prob"


@pytest.fixture
def data(made, tmp_path):
    """A folder with a data set of two files."""
    folder = made(masking="static", num_shards=2, dupe_factor=1)
    return shutil.copytree(folder, tmp_path / "data")


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


@pytest.mark.parametrize("pattern", ["", "/*", "/x-0000?-of*.tfrecord"])
def test_a_file_that_is_cut_or_missing_or_of_another_data_set(data, read, pattern):
    whole = (data / SECOND).read_bytes()
    cut_at_a_record(data / SECOND)
    sizes = (data / SECOND).stat().st_size, len(whole)
    message = "{} has {:,} bytes, but .*/dataset_info.json says {:,};"
    for named in (pattern, f"/{SECOND}"):
        with pytest.raises(UserError, match=message.format(SECOND, *sizes)):
            read(f"{data}{named}")
    read(data / FIRST)
    (data / SECOND).unlink()
    with pytest.raises(UserError, match=f"lists {SECOND}, which is missing; copy it"):
        read(f"{data}{pattern}")
    read(data / FIRST)
    read(data / "x-00000*")
    (data / SECOND).write_bytes(whole)
    (data / "x-9.tfrecord").write_bytes((data / FIRST).read_bytes())
    with pytest.raises(UserError, match="x-9.tfrecord is not among the files that"):
        read(data / "x-*")
    read(data / "x-*-of-*")


def test_bounds_of_shares_are_shares(data, read):
    for share in (0, 1):
        describe(data, lambda info, share=share: info["masking"].update({SHARE: share}))
        read(data)


def test_checksums(data, read, caplog):
    DataSet(str(data)).verify()
    assert "no checksum" not in caplog.text
    bare = shutil.copytree(data, data.with_name("bare")) / SECOND
    for name in ("dataset_info.json", "SHA256SUMS"):
        bare.with_name(name).unlink()
    DataSet(f"{data},{bare}").verify()
    assert "1 of 3 files have no checksum in a dataset_info.json" in caplog.text
    contents = bytearray((data / SECOND).read_bytes())
    contents[1000] ^= 1
    (data / SECOND).write_bytes(contents)
    read(data)
    with pytest.raises(UserError, match=f"{SECOND} has another SHA-256 than .*json"):
        DataSet(str(data)).verify()
    DataSet(str(data / FIRST)).verify()


def describe(folder, change):
    path = folder / "dataset_info.json"
    info = json.loads(path.read_text())
    change(info)
    path.write_text(json.dumps(info))
    (folder / "SHA256SUMS").unlink(missing_ok=True)


def test_descriptions_of_earlier_versions_list_names(data, read, caplog):
    describe(data, lambda info: info.update(files=list(info["files"])))
    read(data)
    DataSet(str(data)).verify()
    assert "2 of 2 files have no checksum in a dataset_info.json" in caplog.text
    (data / SECOND).unlink()
    with pytest.raises(UserError, match=f"lists {SECOND}, which is missing"):
        read(data / "x-*")


def test_official_files_need_no_description(data, read, caplog):
    (data / "dataset_info.json").unlink()
    (data / "SHA256SUMS").unlink()
    cut_at_a_record(data / SECOND)
    (data / ".lock").write_text("{}")
    assert next(iter(read(data / "*")))["input_ids"].shape == (8, 32)
    DataSet(str(data)).verify()
    assert "nothing checks that the files fit" in caplog.text
    assert "2 of 2 files have no checksum" in caplog.text


@pytest.mark.parametrize(
    ("keys", "value", "message"),
    [
        (["kind"], ["static"], r"holds \['static'\] for kind, expected one of static"),
        (["masking", SHARE], 1e999, "inf for masking.masked_lm_prob"),
        (["masking", SHARE], -0.5, "-0.5 for masking.masked_lm_prob"),
        (["max_seq_length"], 0, "0 for max_seq_length, expected a value such as 512"),
        (
            ["masking", "ngram"],
            True,
            "True for masking.ngram, expected a value such as",
        ),
        (["files"], ["../x"], r"'\.\./x'\] for files, expected names of files"),
        (["files", FIRST, "bytes"], -1, f"-1 for files.{FIRST}.bytes, expected a"),
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


def test_the_digest_is_of_the_contents_that_are_used(data, tmp_path, monkeypatch):
    """The way to them does not count; a file less, another one or another order do."""
    whole, first = DataSet(str(data)).digest, DataSet(f"{data}/{FIRST}").digest
    monkeypatch.chdir(tmp_path)
    assert DataSet("data/x-*").digest == DataSet("./data").digest == whole
    # A run that an earlier version began goes on.
    assert DataSet(f"data/{FIRST}").earlier_digest == whole
    shutil.copytree(data, tmp_path / "copy")
    assert DataSet("copy/*.tfrecord").digest == whole
    assert DataSet(f"copy/{FIRST}").digest == first != whole
    backwards = DataSet(f"copy/{SECOND},copy/{FIRST}").digest
    assert len({whole, first, DataSet(f"copy/{SECOND}").digest, backwards}) == 4
    describe(data, lambda info: info["files"][FIRST].update(sha256="0" * 64))
    assert DataSet("data").digest not in (whole, None)
    (data / "dataset_info.json").unlink()
    assert DataSet("data").digest is None
