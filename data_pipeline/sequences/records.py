"""Records of a window of documents for the masked LM: pairs of segments."""

import functools

import numpy as np
import tensorflow as tf

from data_pipeline.records import examples
from data_pipeline.records.dataset_info import MASKING
from data_pipeline.seeds import derive_seed
from data_pipeline.sequences import packing
from data_pipeline.sequences.instances import join_documents
from data_pipeline.sequences.instances import make_instances
from data_pipeline.sequences.masking import mask_tokens

_BATCH = 256
# With more pairs to choose from, rows are fuller.
_PACKED_BATCH = 1024


def describe(options):
    """Returns what dataset_info.json says of the records that `DataOptions` make."""
    masking = options.masking_options()
    law = {name: getattr(masking, name) for name in MASKING}
    if masking.mask_smoothing:
        law["mask_smoothing"] = masking.mask_smoothing
        law["token_counts"] = " ".join(map(str, masking.token_counts))
    return {
        "kind": "packed" if options.pack else options.masking,
        **({"max_pairs_per_row": options.max_pairs_per_row} if options.pack else {}),
        "max_predictions_per_seq": masking.num_predictions,
        "sentence_objective": options.pair_objective,
        "official_sop": options.official_sop,
        **({} if options.across_documents else {"across_documents": False}),
        **({"break_sentences": True} if options.break_sentences else {}),
        "short_seq_prob": options.short_seq_prob,
        "masking": law,
    }


def records(window, options, passes, seed, counts):
    """Yields lists of the serialized records of a `Window`.

    Uses each document `passes` times; adds to the Counter `counts`. `seed` is a tuple
    that names the window.
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
