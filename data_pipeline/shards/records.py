"""Records of a window of documents: of pairs of segments, or of segments of streams."""

import functools
import random

import numpy as np
import tensorflow as tf

from data_pipeline.records import examples
from data_pipeline.seeds import derive_seed
from data_pipeline.sequences import packing
from data_pipeline.sequences.instances import join_documents
from data_pipeline.sequences.instances import make_instances
from data_pipeline.sequences.masking import mask_tokens
from data_pipeline.sequences.streams import cut_stream
from data_pipeline.sequences.streams import lay_out

_BATCH = 256
# More pairs to choose from leave fewer rows partly filled.
_PACKED_BATCH = 1024


def pair_records(window, options, passes, seed, counts):
    """Yields lists of the serialized records of a window.

    Args:
        window: a `Window`, of one document or more.
        options: `RecordFlags`.
        passes: how often each document is used.
        seed: a tuple that names the window.
        counts: a Counter to add to.
    """
    sep_id = options.tokenizer.sep_id
    if options.pair_objective == "none" and options.across_documents:
        window = join_documents(window, sep_id)
    pairs_seed = derive_seed(*seed, "pairs")[0]
    rows, special = make_instances(window, options, sep_id, passes, pairs_seed)
    counts.update(special)
    size = _PACKED_BATCH if options.pack else _BATCH
    for start in range(0, len(rows), size):
        batch = _assemble(window, rows[start : start + size], options)
        counts["sequences"] += len(batch["lengths"])
        counts["tokens"] += int(batch["lengths"].sum())
        counts["label 1"] += int(batch["labels"].sum())
        yield _serialize(batch, options, derive_seed(*seed, "mask", start))


def _serialize(batch, options, seed):
    if options.masking == "dynamic":
        return examples.serialize(_dynamic_features(batch))
    with tf.device("/CPU:0"):
        mask = _compiled_masking(options.masking_options(), options.max_seq_length)
        masked = mask(
            batch["input_ids"], batch["word_starts"], tf.constant(seed, tf.int32)
        )
    features = {
        **{name: values.numpy() for name, values in masked.items()},
        "input_mask": batch["real"],
        "segment_ids": batch["segment_ids"],
        "token_boundary": batch["word_starts"],
        "next_sentence_labels": batch["labels"][:, None],
    }
    if options.pack:
        pad_id = options.tokenizer.pad_id
        features = packing.pack(features, options.max_pairs_per_row, pad_id)
    return examples.serialize(features)


def _assemble(window, rows, options):
    """Lays out [CLS] A [SEP] B [SEP] for each row of a batch of instances."""
    tokenizer = options.tokenizer
    a_start, a_end, b_start, b_end, labels = rows.T
    a_length = (a_end - a_start)[:, None]  # [B, 1]
    b_length = (b_end - b_start)[:, None]
    has_b = options.pair_objective != "none"
    lengths = a_length + b_length + (3 if has_b else 2)
    position = np.arange(options.max_seq_length, dtype=np.int32)[None, :]  # [1, S]
    in_a = (position >= 1) & (position <= a_length)  # [B, S]
    in_b = (position >= a_length + 2) & (position <= a_length + 1 + b_length)
    source = np.where(in_a, a_start[:, None] + position - 1, 0)
    source += np.where(in_b, b_start[:, None] + position - a_length - 2, 0)
    is_text = in_a | in_b
    real = position < lengths
    special = np.where(position == 0, tokenizer.cls_id, tokenizer.sep_id)
    special = np.where(real, special, tokenizer.pad_id)
    return {
        "input_ids": np.where(is_text, window.ids[source], special).astype(np.int32),
        # The official token_boundary: special tokens count as starts.
        "word_starts": np.where(is_text, window.word_starts[source], real),
        "segment_ids": (real & (position >= a_length + 2)).astype(np.int32),
        "real": real.astype(np.int32),
        "b_starts": a_length[:, 0] + 2,
        "lengths": lengths[:, 0],
        "labels": labels,
    }


def _dynamic_features(batch):
    real = batch["real"].astype(bool)
    num_bytes = -(-batch["lengths"] // 8)
    packed = np.packbits(batch["word_starts"], axis=1)
    return {
        "input_ids": (batch["input_ids"][real], batch["lengths"]),
        "word_starts": [
            row[:size].tobytes() for row, size in zip(packed, num_bytes, strict=True)
        ],
        "segment_b_start": batch["b_starts"][:, None],
        "sentence_order_label": batch["labels"][:, None],
    }


@functools.lru_cache(maxsize=1)
def _compiled_masking(masking_options, max_seq_length):
    shape = [None, max_seq_length]
    return tf.function(
        lambda ids, starts, seed: mask_tokens(ids, starts, masking_options, seed),
        input_signature=[
            tf.TensorSpec(shape, tf.int32),
            tf.TensorSpec(shape, tf.bool),
            tf.TensorSpec([2], tf.int32),
        ],
        autograph=False,
    )


def stream_records(window, options, passes, seed, counts):
    """Yields lists of the serialized records of a window, in the order of its text.

    The documents of a window are a stream, with the end of each marked; with
    `options.bi_data` the same tokens from the last to the first are another one. Each
    pass splits the texts anew. The arguments are as for `pair_records`.
    """
    tokenizer, length = options.tokenizer, options.max_seq_length
    window = join_documents(window, end_of_document(tokenizer))
    directions = [(window.ids, window.word_starts, window.segments)]
    if options.bi_data:
        directions.append(_backward(window))
    for number in range(passes):
        for is_reversed, (ids, word_starts, boundaries) in enumerate(directions):
            rng = random.Random(derive_seed(*seed, "stream", number, is_reversed)[0])
            rows = cut_stream(boundaries, length, rng)
            counts["sequences"] += len(rows)
            counts["tokens"] += len(rows) * length
            counts["label 1"] += int(rows[:, -1].sum())
            for first in range(0, len(rows), _BATCH):
                some = rows[first : first + _BATCH]
                special = tokenizer.sep_id, tokenizer.cls_id
                features = lay_out(ids, word_starts, some, length, *special)
                starts = np.arange(first, first + len(some)) == 0
                features["stream_starts"] = starts[:, None].astype(np.int32)
                features["reversed_rows"] = np.full([len(some), 1], is_reversed)
                yield examples.serialize(features)


def end_of_document(tokenizer):
    """Returns the id behind each document: `<eod>`, as in the official data.

    Where a vocabulary lacks it, [MASK] stands for it, which no input of XLNet holds.
    """
    pieces = list(tokenizer.pieces)
    return pieces.index("<eod>") if "<eod>" in pieces else tokenizer.mask_id


def _backward(window):
    boundaries = [window.segments[-1] - place for place in window.segments[::-1]]
    return window.ids[::-1], window.word_starts[::-1], boundaries
