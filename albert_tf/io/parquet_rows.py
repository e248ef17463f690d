"""Rows of Parquet tables, read by pyarrow in batches.

Values are those of JSON: dates, times and decimals become text; bytes become text if
they are UTF-8, else null. Class numbers of the `datasets` package become class names.

A small file may expand to very much, such as one value for many rows. So batches are
small where values may be large, and rows of more than `MAX_ROW` bytes are not read.
"""

import contextlib

from albert_tf.errors import UserError
from albert_tf.errors import of_extra
from albert_tf.io.files import check_once
from albert_tf.io.files import parse_json

SUFFIX = ".parquet"
MAX_ROW = 67_108_864
"""The largest size of a row of any table, in bytes."""

_FEWEST_ROWS, _BATCH_ROWS = 8, 1024
_LARGE = 536_870_912  # bytes of a batch, or of a group of few rows


def open_parquet(path, file):
    """Opens a file as `pyarrow.parquet.ParquetFile`, which reads its end.

    Args:
        path: the file, for messages.
        file: the seekable binary file.

    Raises:
        UserError: pyarrow is not installed, or the file is damaged.
    """
    with of_extra("parquet", "Parquet files need the package pyarrow"):
        import pyarrow.parquet
    with _damage_named(path):
        return pyarrow.parquet.ParquetFile(file)


def rows_of(path, table, first, last, columns=None):
    """Yields (where, fields) for some rows, as `table_rows.read_rows` does.

    Args:
        path: the file, for messages.
        table: the result of `open_parquet`.
        first, last: the range of rows, counted from 0; `last` is excluded.
        columns: names of the columns to read; None for all.

    Raises:
        UserError: a column is missing or repeated, a row group is too large, or the
            file is damaged.
    """
    with _damage_named(path):
        names, classes = table.schema_arrow.names, _classes(table.schema_arrow)
    for name in columns or ():
        if name not in names:
            found = ", ".join(names)
            raise UserError(f"{path} has no column {name!r}, expected one of {found}.")
    check_once(path, names, columns or names)
    with _damage_named(path):
        _check_sizes(path, table.metadata)
        for start, batch in _batches(table, first, last, columns):
            rows = batch.slice(max(0, first - start), last - max(first, start))
            found = _fields(rows, classes)
            for number, fields in enumerate(found, max(first, start) + 1):
                yield f"{path}, row {number}", fields


def _check_sizes(path, metadata):
    """Refuses large groups of few rows before they take memory."""
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        if group.total_byte_size > max(_LARGE, group.num_rows * _LARGE // _BATCH_ROWS):
            raise UserError(
                f"{path} has {group.total_byte_size:,} bytes in {group.num_rows:,} "
                "row(s); write it with shorter values, or leave it out."
            )


def _batches(table, first, last, columns):
    """Yields (index of its first row, batch) for each batch with wanted rows."""
    end = 0
    for number in range(table.num_row_groups):
        group = table.metadata.row_group(number)
        start, end = end, end + group.num_rows
        if start >= last or end <= first:
            continue
        # Each row may hold the same value, which may be nearly the whole group.
        rows = max(
            _FEWEST_ROWS, min(_BATCH_ROWS, _LARGE // (group.total_byte_size + 1))
        )
        # Without threads, since workers may be forked.
        for batch in table.iter_batches(
            rows, row_groups=[number], columns=columns, use_threads=False
        ):
            if start < last and start + batch.num_rows > first:
                yield start, batch
            start += batch.num_rows
        if start != end:
            raise ValueError(f"row group {number} has not the {group.num_rows:,} rows")
    if end != table.metadata.num_rows:
        raise ValueError(f"it has {end:,} rows, not {table.metadata.num_rows:,}")


def _fields(batch, classes):
    """Yields a dict, or a ValueError, for each row of a batch."""
    size, is_one = sum(map(_size, batch.columns)), batch.num_rows == 1
    try:
        if size > MAX_ROW:
            raise ValueError(f"it holds {size:,} bytes, expected at most {MAX_ROW:,}")
        names = batch.schema.names
        columns = [
            _values(column, classes.get(name), is_one)
            for name, column in zip(names, batch.columns, strict=True)
        ]
        rows = zip(*columns, strict=True) if names else [()] * batch.num_rows
        yield from [dict(zip(names, row, strict=True)) for row in rows]
    except ValueError as error:
        if is_one:
            yield ValueError(f"the row cannot be read ({_first_line(error)})")
            return
        for place in range(batch.num_rows):
            yield from _fields(batch.slice(place, 1), classes)


def _size(column, is_shared=True):
    """Returns the bytes that a column's values take in Python.

    Args:
        column: a pyarrow array.
        is_shared: whether rows share the values of a dictionary; lists copy them.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        is_text = str(column.type.value_type).endswith(("string", "binary"))
        if not is_text or (is_shared and len(column) > 1):
            return column.dictionary.nbytes
        sizes = pc.binary_length(column.dictionary).cast(pa.int64())
        return pc.sum(sizes.take(column.indices)).as_py() or 0
    if pa.types.is_struct(column.type):
        return sum(_size(part, False) for part in column.flatten())
    if pa.types.is_nested(column.type) and hasattr(column, "flatten"):
        return _size(column.flatten(), False)
    return column.nbytes


def _values(column, classes, is_one):
    """Returns the values of a column; rows share equal values of a dictionary."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_dictionary(kind):
        if is_one:
            column = column.dictionary_decode()
        else:
            values = _values(column.dictionary, classes, False)
            places = column.indices.to_pylist()
            return [None if place is None else values[place] for place in places]
    is_time = pa.types.is_temporal(kind) and not pa.types.is_duration(kind)
    if is_time or pa.types.is_decimal(kind):  # Python cannot represent all
        column = column.cast(pa.string())
    return [_plain(value, classes) for value in column.to_pylist()]


def _plain(value, classes):
    if isinstance(value, dict):
        return {name: _plain(one, None) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one, classes) for one in value]
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return None
    if classes and isinstance(value, int) and value != -1:  # -1: a hidden label
        if not 0 <= value < len(classes):
            raise ValueError(f"the class {value} has no name")
        return classes[value]
    return value if isinstance(value, str | int | float | None) else str(value)


def _classes(schema):
    """Reads the class names of each column, as the `datasets` package writes them."""
    try:
        metadata = parse_json((schema.metadata or {}).get(b"huggingface", b"{}"))
        features = metadata["info"]["features"]
    except (KeyError, TypeError, ValueError):
        return {}
    found = {}
    for name, feature in features.items() if isinstance(features, dict) else ():
        if isinstance(feature, list) and feature:
            feature = feature[0]
        while isinstance(feature, dict) and isinstance(feature.get("feature"), dict):
            feature = feature["feature"]
        if isinstance(feature, dict) and feature.get("_type") == "ClassLabel":
            names = feature.get("names")
            if isinstance(names, list) and all(isinstance(n, str) for n in names):
                found[name] = names
    return found


@contextlib.contextmanager
def _damage_named(path):
    try:
        yield
    except UserError:
        raise
    # pyarrow has errors of its own, of Python's kinds, and of what it calls.
    except Exception as error:
        raise UserError(
            f"{path} cannot be read as Parquet ({_first_line(error).rstrip('.')}); "
            "write the file anew, or leave it out."
        ) from error


def _first_line(error):
    return str(error).partition("\n")[0] or type(error).__name__
