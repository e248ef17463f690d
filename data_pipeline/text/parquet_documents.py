"""Parquet as a format of a corpus: a document a row, in one of its columns."""

from albert_tf.errors import UserError
from albert_tf.io import parquet_rows
from data_pipeline.text import input_files


class ParquetDocuments:
    """A document a row; sentences are split here."""

    help = "parquet: one document per row, in the column --text_field."
    suffixes = (parquet_rows.SUFFIX,)
    is_text = False

    def documents(self, reader, file, low, high):
        """Yields the share's documents; rows share the bytes of their file evenly."""
        with input_files.opened(file.path) as stream:
            table = parquet_rows.open_parquet(file.path, stream)
            count = table.metadata.num_rows
            first = -(-low * count // file.size)
            last = -(-min(high, file.size) * count // file.size)
            rows = parquet_rows.rows_of(
                file.path, table, first, last, [reader.text_field]
            )
            before = reader.bytes_read
            for row, (where, fields) in enumerate(rows, first):
                reader.bytes_read = before + file.size * (row - first) // count
                yield row, reader.segments_of(_text(where, fields, reader.text_field))


def _text(where, fields, name):
    if isinstance(fields, ValueError):
        raise UserError(f"{where}: {fields}; correct the row, or leave it out.")
    if not isinstance(fields[name], str):
        raise UserError(
            f"{where}: expected a text in {name!r}, got {fields[name]!r}; correct the "
            "row, or leave it out."
        )
    return fields[name]
