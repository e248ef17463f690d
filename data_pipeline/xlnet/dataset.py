"""tf.data for permutation language models: batches that continue streams of text.

The records of all files form one line, in the order of their streams, which is cut into
as many equal parts as a batch has rows. Each row walks through one part, so that the
next batch continues the text of this one, row by row.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from albert_tf.display.progress import Progress
from albert_tf.errors import UserError
from albert_tf.io import storage
from albert_tf.tokenization.tokenizer import Tokenizer
from data_pipeline.data_set import DataSet
from data_pipeline.data_set import refuse_length
from data_pipeline.records import dataset_info
from data_pipeline.records import examples
from data_pipeline.records.schema import TOKENS
from data_pipeline.seeds import batch_seed
from data_pipeline.seeds import derive_seed
from data_pipeline.xlnet.permutation import choose_targets
from data_pipeline.xlnet.permutation import draw_permutations
from data_pipeline.xlnet.permutation import permuted_order
from data_pipeline.xlnet.permutation import predictions
from data_pipeline.xlnet.streams import reused_length

_PREFETCHED = 4
_BLOCK_BYTES = 67_108_864  # of records read at once
_FRAME = 16  # bytes around a record: its length, and the checksums of both
_RECORDS = 4096  # lengths read at once
_BUFFER = 4096, 262_144  # least and most bytes read at once


@tf.autograph.experimental.do_not_convert
def stream_dataset(
    input_file: str,
    tokenizer: Tokenizer,
    batch_size: int,
    max_seq_length: int,
    max_predictions_per_seq: int,
    seed: int,
    training: bool,
    vocab_size: int | None = None,
    max_gram: int = 5,
) -> tf.data.Dataset:
    """Reads the files of create_pretraining_data --objective=permutation_lm.

    Args:
        input_file: as for `input_pipeline.pretraining_dataset`.
        tokenizer: the model's tokenizer.
        batch_size: rows per batch.
        max_seq_length: tokens S per segment.
        max_predictions_per_seq: predictions P per segment; some stay empty if chosen
            tokens are special.
        seed: int; equal seeds give equal batches.
        training: take the files in a new order in each epoch, repeat forever, and
            skip records of rows that have more than others. Without it, each record
            comes once, and the last batch may lack rows at its end.
        vocab_size: the model's, an exclusive bound of ids; by default the tokenizer's.
        max_gram: the maximal number of tokens in a predicted span.

    Returns:
        A `tf.data.Dataset` of dicts: int32 input_ids, segment_ids, query_order,
        key_order [batch, S], target_positions (-1 for padding), target_ids [batch, P],
        reversed_rows (1 for text from its last token to its first), stream_starts (1
        for a row that does not continue its row of the batch before) [batch]; float32
        target_weights [batch, P]. Its iterator can be checkpointed. The tokens to
        predict and their order are drawn anew in each epoch.

    Raises:
        UserError: no such file, or a data set that does not fit these arguments.
        tf.errors.InvalidArgumentError: as for `input_pipeline.pretraining_dataset`.
    """
    data = DataSet(input_file)
    data.check("permutation_lm", tokenizer)
    info = data.in_common()
    if info is None:
        raise UserError(
            f"{input_file} lacks a {dataset_info.NAME}, which streams of text need; "
            "copy it from where the data was made, or make the data with "
            "create_pretraining_data --objective=permutation_lm."
        )
    made = info["max_seq_length"]
    if made != max_seq_length:
        refuse_length(input_file, "max_seq_length", made, max_seq_length)
    if not 2 <= max_predictions_per_seq <= max_seq_length:
        raise UserError(
            f"--max_predictions_per_seq={max_predictions_per_seq}: expected 2 to "
            f"{max_seq_length}, the length of a sequence."
        )
    dataset = _batches(data.paths, batch_size, seed, training)
    lengths = max_seq_length, max_predictions_per_seq, max_gram
    vocab_size = vocab_size or tokenizer.vocab_size
    dataset = _draw(dataset, tokenizer, lengths, vocab_size, seed)
    # A checkpoint holds the place of the iterator and nothing that it has read: blocks
    # are read by an op that has no state but the files, which stay as they were.
    options = tf.data.Options()
    options.experimental_symbolic_checkpoint = True
    policy = tf.data.experimental.ExternalStatePolicy
    options.experimental_external_state_policy = policy.IGNORE
    return dataset.prefetch(_PREFETCHED).with_options(options)


def _batches(paths, batch_size, seed, training):
    """Returns batches of serialized records, and whether each begins its row."""
    records = RecordIndex(paths)
    size, more = divmod(int(tf.reduce_sum(records.counts)), batch_size)
    if training and not size:
        raise UserError(
            f"{paths[0]} and the files beside it hold {more} segments, too few "
            f"for a batch of {batch_size} rows; lower --train_batch_size, or make the "
            "data from more text."
        )
    # All parts have the same number of records; the first ones may have one more.
    extra = 0 if training else more
    index = tf.range(batch_size, dtype=tf.int64)
    begins = index * size + tf.minimum(index, more)
    ends = begins + size + tf.cast(index < extra, tf.int64)
    turns = max(1, _BLOCK_BYTES // max(1, batch_size * records.record_bytes))
    shuffle_seed = derive_seed(seed, "files")

    def epoch(number):
        order = tf.range(len(paths), dtype=tf.int64)
        if training:
            order = tf.random.experimental.stateless_shuffle(
                order, batch_seed(shuffle_seed, number)
            )
        line = records.line(order)
        firsts = tf.data.Dataset.range(0, size + (extra > 0), turns)
        return firsts.flat_map(lambda first: _block(line, begins, ends, first, turns))

    epochs = tf.data.Dataset.counter() if training else tf.data.Dataset.range(1)
    return epochs.flat_map(epoch).batch(batch_size, drop_remainder=training)


def _block(line, begins, ends, first, turns):
    """Returns the records of some batches, batch by batch.

    The records of each row are read in one go: no file stays open. A checkpoint holds
    the place, from which the block is read again.

    `begins` and `ends`, int64 [rows], are the places of the rows' parts in the line,
    `first` is the number of the first batch, and `turns` the number of batches.
    """
    begins = tf.minimum(begins + first, ends)
    counts = tf.minimum(begins + turns, ends) - begins
    rows = tf.data.Dataset.from_tensor_slices((begins, counts))
    rows = rows.filter(lambda _, count: count > 0).flat_map(line)
    records = rows.batch(tf.reduce_sum(counts)).get_single_element()
    turn = tf.ragged.range(counts)  # [rows, turns], as are the records
    in_turn = tf.argsort(turn.flat_values, stable=True)
    is_first = tf.gather(turn.flat_values, in_turn) + first == 0
    return tf.data.Dataset.from_tensor_slices((tf.gather(records, in_turn), is_first))


def _draw(dataset, tokenizer, lengths, vocab_size, seed):
    """Parses batches and draws their predictions, by the number of each batch."""
    functional = tokenizer.sep_id, tokenizer.cls_id
    tokens, num_predict, max_gram = lengths
    half, seed = reused_length(tokens), derive_seed(seed, "permutations")

    def parse_and_draw(number, batch):
        serialized, begins = batch
        features = examples.parse_padded(
            "permutation", serialized, {TOKENS: tokens}, vocab_size
        )
        # A row that begins inside of a stream has no memory of the text before.
        starts = (features["stream_starts"] == 1) | begins
        word_starts = features.pop("word_starts") == 1
        ids, is_reversed = features["input_ids"], features["reversed_rows"] == 1
        seeds = tf.unstack(tf.random.split(batch_seed(seed, number), 2))
        chosen = choose_targets(
            word_starts, is_reversed, half, num_predict, seeds[0], max_gram
        )
        permutations = draw_permutations(tf.shape(ids)[0], half, seeds[1])
        query_order, key_order, targets = permuted_order(
            ids, chosen, permutations, half, functional
        )
        return {
            **features,
            "stream_starts": tf.cast(starts, tf.int32),
            "query_order": query_order,
            "key_order": key_order,
            **predictions(ids, targets, num_predict),
        }

    return dataset.enumerate().map(parse_and_draw, num_parallel_calls=tf.data.AUTOTUNE)


class RecordIndex:
    """Index of the records of files; it reads the files once.

    Args:
        paths: list of TFRecord files.

    Attributes:
        counts: int64 `[files]`, records of each file.
        record_bytes: mean size of a record in its file; 0 if there is none.

    Raises:
        UserError: a file is damaged.
    """

    def __init__(self, paths: list[str]) -> None:
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

    def line(self, order: Any) -> Callable[[tf.Tensor, tf.Tensor], tf.data.Dataset]:
        """Joins the records of the files, in an order of these, to one line.

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
    """Returns the sizes of a file's records in bytes, framing included, as int64."""
    sizes, done = [np.zeros([0], np.int64)], progress.done
    records = tf.data.TFRecordDataset(path, buffer_size=_BUFFER[1]).batch(_RECORDS)
    with storage.os_errors():
        try:
            for lengths in records.map(tf.strings.length):
                progress.update(done)
                sizes.append(lengths.numpy().astype(np.int64) + _FRAME)
                done += int(sizes[-1].sum())
        except tf.errors.DataLossError as error:
            raise UserError(
                f"{path} is damaged: one of its records has another checksum than it "
                "says; copy the file again, or make the data again."
            ) from error
    return np.concatenate(sizes)
