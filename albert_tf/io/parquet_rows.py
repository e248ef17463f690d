"""The rows of Parquet tables, a batch of a row group at a time, through pyarrow.

Values are those that JSON has: dates, times and decimals become text, bytes the text
that they are in UTF-8, and null where they are none.
"""

import contextlib

from albert_tf.errors import UserError
from albert_tf.errors import of_extra
from albert_tf.io.files import check_once

SUFFIX = ".parquet"
_BATCH_ROWS = 1024


def open_parquet(path, file):
    """Opens a file as `pyarrow.parquet.ParquetFile`, of which the end is read.

    Args:
        path: the file, for messages.
        file: it, opened in binary form; it can be sought in.

    Raises:
        UserError: there is no pyarrow, or the file is no whole Parquet file.
    """
    with of_extra("parquet", "Parquet files need the package pyarrow"):
        import pyarrow.parquet
    with _damage_named(path):
        return pyarrow.parquet.ParquetFile(file)


def rows_of(path, table, first, last, columns=None):
    """Yields (where, fields) of some rows: a text with a number, from 1, and a dict.

    Fields are a ValueError where a row cannot be read.

    Args:
        path: the file, for messages.
        table: the result of `open_parquet`.
        first, last: places from 0 of the first row and the one behind the last.
        columns: names of those that are read; None for all.

    Raises:
        UserError: a column is missing or there twice, or the file is damaged.
    """
    names = table.schema_arrow.names
    for name in columns or ():
        if name not in names:
            found = ", ".join(names)
            raise UserError(f"{path} has no column {name!r}, expected one of {found}.")
    check_once(path, names, columns or names)
    with _damage_named(path):
        for start, batch in _batches(table, first, last, columns):
            rows = batch.slice(max(0, first - start), last - max(first, start))
            for number, fields in enumerate(_fields(rows), max(first, start) + 1):
                yield f"{path}, row {number}", fields


def _batches(table, first, last, columns):
    """Yields (place of its first row, batch) of each batch with wanted rows."""
    end = 0
    for group in range(table.num_row_groups):
        start, end = end, end + table.metadata.row_group(group).num_rows
        if start >= last or end <= first:
            continue
        # Without threads, for workers may be forked.
        for batch in table.iter_batches(
            _BATCH_ROWS, row_groups=[group], columns=columns, use_threads=False
        ):
            if start < last and start + batch.num_rows > first:
                yield start, batch
            start += batch.num_rows


def _fields(batch):
    """Returns a list of a dict, or a ValueError, for each row of a batch."""
    try:
        return [_plain(row) for row in _with_texts(batch).to_pylist()]
    except ValueError as error:
        if batch.num_rows == 1:
            return [ValueError(f"the row cannot be read ({_first_line(error)})")]
        parts = (batch.slice(place, 1) for place in range(batch.num_rows))
        return [fields for part in parts for fields in _fields(part)]


def _with_texts(batch):
    """Replaces dates, times and decimals, which Python has not all of, by text."""
    import pyarrow as pa

    for place, field in enumerate(batch.schema):
        kind = field.type
        is_time = pa.types.is_temporal(kind) and not pa.types.is_duration(kind)
        if is_time or pa.types.is_decimal(kind):
            text = batch.column(place).cast(pa.string())
            batch = batch.set_column(place, field.name, text)
    return batch


def _plain(value):
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return None
    return value if isinstance(value, str | int | float | None) else str(value)


@contextlib.contextmanager
def _damage_named(path):
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise UserError(
            f"{path} cannot be read as Parquet ({_first_line(error).rstrip('.')}); "
            "write the file anew, or leave it out."
        ) from error


def _first_line(error):
    return str(error).partition("\n")[0]
