"""tf.data input of pretraining: from shards to batches; masks dynamic data."""

from collections.abc import Callable
from typing import Any

import tensorflow as tf
from absl import logging

from albert_tf.errors import UserError
from albert_tf.tokenization.tokenizer import Tokenizer
from data_pipeline.data_set import DataSet
from data_pipeline.data_set import refuse_length
from data_pipeline.records import examples
from data_pipeline.records.dataset_info import MASKING
from data_pipeline.records.schema import PAIRS
from data_pipeline.records.schema import PREDICTIONS
from data_pipeline.records.schema import TOKENS
from data_pipeline.seeds import batch_seed
from data_pipeline.seeds import derive_seed
from data_pipeline.sequences.masking import mask_tokens
from data_pipeline.sequences.masking_options import MaskingOptions
from data_pipeline.sequences.masking_options import default_max_predictions

_ROOM = "max_predictions_per_seq"
_OPEN_FILES = 16
_SHUFFLE_BUFFER = 8192
_PREFETCHED = 4


@tf.autograph.experimental.do_not_convert
def pretraining_dataset(
    input_file: str,
    tokenizer: Tokenizer | None,
    batch_size: int,
    max_seq_length: int,
    max_predictions_per_seq: int,
    seed: int,
    training: bool,
    num_input_pipelines: int = 1,
    input_pipeline_id: int = 0,
    masked_lm_prob: float | None = None,
    masked_share: Callable[[tf.Tensor], tf.Tensor] | None = None,
    vocab_size: int | None = None,
    share_flag: str = "masked_lm_prob",
) -> tf.data.Dataset:
    """Reads the files of create_pretraining_data, or of the official script.

    Args:
        input_file: a comma-separated list of TFRecord files, globs and folders; see
            `DataSet`.
        tokenizer: the model's tokenizer; None, if unknown, for records that are already
            masked.
        batch_size: sequences per batch in this input pipeline.
        max_seq_length: tokens T per sequence.
        max_predictions_per_seq: predictions P per sequence.
        seed: int; equal seeds give equal batches.
        training: shuffle, repeat forever and drop the last partial batch.
        num_input_pipelines, input_pipeline_id: which share of the records to take.
        masked_lm_prob: share of the tokens to predict, for dynamic data; by default
            the data set's.
        masked_share: for dynamic data, a function from the number of a batch, a float64
            scalar from 0, to the share of its tokens to predict, at most
            `masked_lm_prob`.
        vocab_size: the model's, an exclusive bound of ids; by default the tokenizer's,
            if there is one.
        share_flag: the name of `masked_lm_prob` in errors.

    Returns:
        A `tf.data.Dataset` of dicts: int32 input_ids, input_mask, segment_ids
        [batch, T], masked_lm_positions, masked_lm_ids [batch, P],
        sentence_order_labels [batch]; float32 masked_lm_weights [batch, P]. Its
        iterator can be checkpointed. Dynamic data gets a new mask in every epoch.
        Packed data, of at most K pairs a row, also has int32 pair_ids [batch, T] and
        cls_positions [batch, K], float32 sentence_order_weights [batch, K], and int32
        sentence_order_labels [batch, K].

    Raises:
        UserError: a file does not exist, or the data set does not fit these arguments.
        tf.errors.InvalidArgumentError: from the batches, for bytes that are not a
            record, or numbers out of range; see `schema.sentence_on`.
    """
    if vocab_size is None and tokenizer is not None:
        vocab_size = tokenizer.vocab_size
    lengths = {TOKENS: max_seq_length, PREDICTIONS: max_predictions_per_seq}
    data = DataSet(input_file)
    data.check("masked_lm", tokenizer)
    for folder, info in data.described.items():
        _check_share(info, folder or ".", share_flag, masked_lm_prob, lengths)
        _check_lengths(info, folder or ".", lengths, masked_lm_prob, training)
    info = data.in_common()
    share = num_input_pipelines, input_pipeline_id
    dataset = _batches(data.paths, batch_size, seed, training, share)
    if info is not None and info["kind"] == "dynamic":
        masking = _masking_options(
            info, tokenizer, max_predictions_per_seq, masked_lm_prob
        )
        mask_seed = derive_seed(seed, "mask", input_pipeline_id)
        dataset = _mask(
            dataset, masking, max_seq_length, vocab_size, mask_seed, masked_share
        )
    else:
        if masked_lm_prob is not None:
            raise UserError(
                f"{input_file} was masked when it was made, so "
                f"{share_flag}={masked_lm_prob:g} comes too late; leave it out, or "
                "make the data with create_pretraining_data --masking=dynamic."
            )
        dataset = _parse(dataset, lengths, vocab_size, info)
    return dataset.prefetch(_PREFETCHED)


def _check_lengths(info, where, lengths, masked_lm_prob, training):
    made = lengths_of(info, masked_lm_prob)
    for (name, least), wanted in zip(made.items(), lengths.values(), strict=True):
        # Dynamic records are padded and masked here, so there may be more room.
        if wanted < least or (wanted > least and info["kind"] != "dynamic"):
            refuse_length(where, name, least, wanted)
    if training and lengths[TOKENS] > info["max_seq_length"]:
        logging.warning(
            "The data set in %s has max_seq_length=%d, training asks for %d: the rest "
            "of each sequence is padding",
            where,
            info["max_seq_length"],
            lengths[TOKENS],
        )


def _check_share(info, where, flag, share, lengths):
    """Refuses to mask more tokens of dynamic data than there are predictions."""
    needed, most = lengths_of(info, share)[_ROOM], lengths[PREDICTIONS]
    # `_check_lengths` reports rows that are too long.
    is_at_fault = lengths[TOKENS] >= info["max_seq_length"] and needed > most
    if share is None or info["kind"] != "dynamic" or not is_at_fault:
        return
    fits = [n / 1e4 for n in range(10_000) if lengths_of(info, n / 1e4)[_ROOM] <= most]
    lower = f"lower it to {fits[-1]:g} or less, or " if fits else ""
    raise UserError(
        f"{flag}={share:g} of {info['max_seq_length']} tokens, as {where} has them, "
        f"needs {needed} predictions, but {_ROOM}={most}; {lower}pass {_ROOM}={needed}."
    )


def lengths_of(
    info: dict[str, Any], masked_lm_prob: float | None = None
) -> dict[str, int]:
    """Returns the lengths that a dataset_info.json's data needs, by flag.

    For dynamic data, `masked_lm_prob` may differ from the data set's.
    """
    lengths = {n: info[n] for n in ("max_seq_length", _ROOM)}
    if masked_lm_prob is not None and info["kind"] == "dynamic":
        once = default_max_predictions(info["max_seq_length"], masked_lm_prob)
        lengths[_ROOM] = once * _passes(info["masking"])
    return lengths


def _masking_options(info, tokenizer, max_predictions_per_seq, masked_lm_prob):
    masking = {name: info["masking"][name] for name in MASKING}
    if "mask_smoothing" in info["masking"]:
        counts = info["masking"]["token_counts"].split()
        masking["mask_smoothing"] = info["masking"]["mask_smoothing"]
        masking["token_counts"] = tuple(map(int, counts))
    if masked_lm_prob is not None:
        masking["masked_lm_prob"] = masked_lm_prob
    return MaskingOptions.of(
        tokenizer,
        max_predictions_per_seq=max_predictions_per_seq // _passes(masking),
        **masking,
    )


def _passes(masking):
    # Shuffled tokens are predicted, too.
    return 2 if masking["do_permutation"] else 1


def _batches(paths, batch_size, seed, training, share):
    """Batches serialized records; `share` is (number of pipelines, this one's id).

    In training, files and their records come in a new order in each epoch.
    """
    files = tf.data.Dataset.from_tensor_slices(paths)
    if training:
        files = files.shuffle(len(paths), seed=seed)
    records = files.interleave(
        tf.data.TFRecordDataset,
        cycle_length=min(len(paths), _OPEN_FILES),
        num_parallel_calls=tf.data.AUTOTUNE,
        deterministic=True,
    )
    dataset = records.shard(*share)
    if training:
        dataset = dataset.shuffle(_SHUFFLE_BUFFER, seed=seed).repeat()
    return dataset.batch(batch_size, drop_remainder=training)


def _parse(dataset, lengths, vocab_size, info):
    """Parses batches of masked records; without `info` they are official ones."""
    info = info or {"kind": "static", "sentence_objective": None}
    kind, objective = info["kind"], info["sentence_objective"]
    lengths = {**lengths, PAIRS: info.get("max_pairs_per_row")}

    def parse(batch):
        return examples.parse_padded(kind, batch, lengths, vocab_size, objective)

    return dataset.map(parse, num_parallel_calls=tf.data.AUTOTUNE)


def _mask(dataset, options, max_seq_length, vocab_size, seed, masked_share):
    """Masks each batch with a seed from its number, which counts across epochs."""

    def parse_and_mask(number, batch):
        features = examples.parse_dynamic(
            batch, max_seq_length, options.pad_id, vocab_size
        )
        share = None
        if masked_share is not None:
            share = masked_share(tf.cast(number, tf.float64))
        masked = mask_tokens(
            features["input_ids"],
            features.pop("word_starts"),
            options,
            batch_seed(seed, number),
            share,
        )
        return {**features, **masked}

    return dataset.enumerate().map(parse_and_mask, num_parallel_calls=tf.data.AUTOTUNE)
