"""Index of the records in files, so that reading can begin at any of them."""

import numpy as np
import tensorflow as tf

from albert_tf.display.progress import Progress
from albert_tf.errors import UserError
from albert_tf.io import storage

_FRAME = 16  # bytes around a record: its length, and the checksums of both
_RECORDS = 4096  # whose lengths are asked for at once
_BUFFER = 1 << 12, 1 << 18  # bytes that are read at once, at least and at most


class RecordIndex:
    """The places of all records of files, which are read once to find them.

    Args:
        paths: list of TFRecord files.

    Attributes:
        counts: int64 `[files]`, records of each file.
        record_bytes: mean size of a record in its file; 0 if there is none.

    Raises:
        UserError: a file is damaged.
    """

    def __init__(self, paths):
        total = sum(tf.io.gfile.stat(path).length for path in paths)
        with Progress(total, "bytes", "finding the segments") as progress:
            sizes = [_sizes(path, progress) for path in paths]
        counts = np.array([len(of_file) for of_file in sizes], np.int64)
        self.counts = tf.constant(counts)
        self.record_bytes = total // max(1, counts.sum())
        self._paths = tf.constant(paths)
        self._firsts = tf.constant(np.cumsum(counts) - counts)
        offsets = [np.cumsum(of_file) - of_file for of_file in sizes]
        self._offsets = tf.constant(np.concatenate(offsets))

    def line(self, order):
        """Joins all records to one line.

        Args:
            order: int `[files]`, numbers of the files.

        Returns:
            A function from the place of a record in that line and a count, both int64,
            to a `tf.data.Dataset` of that many serialized records.
        """
        paths, counts, first_records = (
            tf.gather(values, order)
            for values in (self._paths, self.counts, self._firsts)
        )
        ends = tf.cumsum(counts)
        starts = ends - counts

        def records(begin, count):
            low = tf.searchsorted(ends, [begin], side="right")[0]
            high = tf.searchsorted(starts, [begin + count], side="left")[0]
            offset = self._offsets[first_records[low] + begin - starts[low]]
            others = tf.zeros([high - low - 1], tf.int64)  # from their beginning
            variant = tf.raw_ops.TFRecordDatasetV2(
                filenames=paths[low:high],
                compression_type="",
                buffer_size=tf.clip_by_value(count * self.record_bytes, *_BUFFER),
                byte_offsets=tf.concat([[offset], others], axis=0),
            )
            text = tf.TensorSpec([], tf.string)
            return tf.data.experimental.from_variant(variant, text).take(count)

        return records


def _sizes(path, progress):
    """Returns the bytes of each record of a file with its framing, an int64 array."""
    sizes, done = [np.zeros([0], np.int64)], progress.done
    records = tf.data.TFRecordDataset(path, buffer_size=_BUFFER[1]).batch(_RECORDS)
    try:
        with storage.os_errors():
            for lengths in records.map(tf.strings.length):
                progress.update(done)
                sizes.append(lengths.numpy().astype(np.int64) + _FRAME)
                done += int(sizes[-1].sum())
    except OSError as error:
        if not isinstance(error.__cause__, tf.errors.DataLossError):
            raise
        raise UserError(
            f"{path} is damaged: one of its records has another checksum than it "
            "says; copy the file again, or make the data again."
        ) from error
    return np.concatenate(sizes)
