"""Small files that hold much, and files that are none: refused, in little memory."""

import json
import os
import random

import pyarrow as pa
import pyarrow.parquet
import pytest

from albert_tf.config import AlbertConfig
from albert_tf.errors import UserError
from albert_tf.io import parquet_rows
from albert_tf.io import table_rows
from albert_tf.io import text_files
from albert_tf.io.table_rows import read_rows
from albert_tf.tasks.tables import Columns
from albert_tf.tasks.tables import read_table
from albert_tf.tokenization import load_tokenizer
from data_pipeline.text import corpus
from tests.memory import added
from tests.tasks.test_tables import PACK
from tools.verify.recordings import read_arrays


def refused(message, function, *arguments):
    """The MiB that a call adds to the peak of memory before it refuses its file."""

    def call():
        with pytest.raises(UserError, match=message):
            function(*arguments)

    return added(call)


def read(path):
    return [*read_rows(path)]


def documents(path):
    return [*corpus.Reader(corpus.find_files(str(path))).documents(0, 1)]


_ROW = b'{"text": "' + b"x" * 2**24
_TOO_LONG = "the row has more than 65,536 char"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.tsv.gz", _ROW, f"1: {_TOO_LONG}"),
        ("a.csv.gz", b'text\n"' + b'x\n","' * 2**21, f"line 2: {_TOO_LONG}"),
        ("a.jsonl.bz2", _ROW, f"1: {_TOO_LONG}"),
        ("a.json.xz", b"[" + _ROW, "row 1"),
        ("a.jsonl.zst", _ROW, f"1: {_TOO_LONG}"),
        ("a.txt.gz", b"x\n" * 2**25, "more than 1,048,576 bytes; decompress it"),
    ],
    ids=range(6),
)
def test_a_row_or_a_text_without_end(tmp_path, monkeypatch, name, text, message):
    monkeypatch.setattr(table_rows, "MAX_ROW", 2**16)
    monkeypatch.setattr(text_files, "_MAX_BYTES", 2**20)
    path = tmp_path / name
    path.write_bytes(PACK[path.suffix](text))
    whole = ".txt" in name  # read at once
    reader, most = (text_files.read_lines, 20) if whole else (read, 8)
    assert refused(message, reader, path) < most


@pytest.fixture
def write(tmp_path):
    """Writes a column, of which the dictionary has the distinct values alone."""

    def write_column(values, **options):
        table, path = pa.table({"text": values}), tmp_path / "a.parquet"
        options["dictionary_pagesize_limit"] = 2**30
        pyarrow.parquet.write_table(table, path, **options)
        return path

    return write_column


@pytest.mark.slow
@pytest.mark.parametrize(("stored", "in_lists"), [(True, False), (False, True)])
def test_one_cell_of_many_rows(write, monkeypatch, stored, in_lists):
    monkeypatch.setattr(parquet_rows, "_LARGE", 2**24)
    monkeypatch.setattr(parquet_rows, "MAX_ROW", 2**22)
    indices, texts = pa.array([0] * 512, pa.int32()), pa.array(["x" * 2**21])
    cells = pa.DictionaryArray.from_arrays(indices, texts)
    if in_lists:
        cells = pa.ListArray.from_arrays(pa.array(range(513), pa.int32()), cells)
    path = write(cells, store_schema=stored)
    kind = "expected a text, not" if in_lists else "a text has 2,097,152 characters"
    message = f"a.parquet, row 1: {kind}"
    assert refused(message[:60], read_table, path, Columns("text")) < 200
    assert added(lambda: [len(fields) for _, fields in read_rows(path)]) < 200


@pytest.mark.slow
def test_a_large_cell(write, monkeypatch):
    path = write(pa.array(["x" * 2**23]))
    monkeypatch.setattr(parquet_rows, "MAX_ROW", 2**20)
    with pytest.raises(UserError, match="row 1: the row cannot be read .it holds 8,38"):
        read_table(path, Columns("text"))
    monkeypatch.setattr(parquet_rows, "_LARGE", 2**22)
    for reader in (read, documents):
        assert refused("has 8,388,.* bytes in 1 row", reader, path) < 10


_READERS = {
    "a.csv": read,
    "a.jsonl.gz": read,
    "a.parquet": read,
    "a.txt": text_files.read_lines,
    "b.txt": lambda path: corpus.find_files(str(path)),
    "a.json": lambda path: AlbertConfig.from_json_file(str(path)),
    "vocab.txt": lambda path: load_tokenizer(str(path)),
    "a.npz": lambda path: read_arrays(str(path)),
}


@pytest.mark.parametrize("name", _READERS)
def test_only_regular_files_are_read(tmp_path, name):
    path, reader = tmp_path / name, _READERS[name]
    message = f"{name} is a pipe or a device, expected a regular file; write"
    for make in (os.mkfifo, lambda path: os.symlink("/dev/zero", path)):
        make(path)
        with pytest.raises(UserError, match=message):
            reader(path)
        path.unlink()
    path.symlink_to(name)
    with pytest.raises(UserError) as error:
        reader(path)
    assert "did you mean" not in str(error.value)


def test_flipped_bits_of_parquet(tmp_path):
    rows = [{"text": f"Row {row}.", "tags": ["a"], "label": row} for row in range(300)]
    path = tmp_path / "a.parquet"
    features = json.dumps({"info": {"features": {"text": {"_type": "Value"}}}})
    table = pa.Table.from_pylist(rows)
    table = table.replace_schema_metadata({"huggingface": features})
    pyarrow.parquet.write_table(table, path, row_group_size=100)
    data, numbers, seen = path.read_bytes(), random.Random(0), set()
    for _ in range(180):
        flipped = bytearray(data)
        anywhere, in_the_end = numbers.randrange(len(data)), -numbers.randint(1, 1500)
        flipped[numbers.choice([anywhere, in_the_end])] ^= 1 << numbers.randrange(8)
        path.write_bytes(flipped)
        try:
            seen.add(len(read(path)))
        except UserError as error:
            seen.add(str(error).partition("(")[0])
    assert seen == {300, f"{path} cannot be read as Parquet "}
    path.write_bytes(data[:100])
    for reader in (documents, lambda path: read_table(path, Columns("text"))):
        with pytest.raises(UserError, match="a.parquet cannot be read as Parquet"):
            reader(path)


@pytest.mark.parametrize("group", [0, 1])
def test_rows_that_are_missing(write, monkeypatch, group):
    def without_a_group(self, *_, row_groups, **__):
        groups = self.read_row_groups(row_groups)
        return groups.slice(row_groups == [group]).to_batches()

    path = write(range(20), row_group_size=10)
    with open(path, "rb") as file:
        table = parquet_rows.open_parquet(path, file)
        monkeypatch.setattr(type(table), "iter_batches", without_a_group)
        with pytest.raises(UserError, match=f"row group {group} has not the 10 rows"):
            [*parquet_rows.rows_of(path, table, 0, 20)]
