"""tf.data for pretraining: shards to batches; dynamic data is masked here."""

import os

import tensorflow as tf
from absl import logging
from google.protobuf.message import DecodeError

from albert_tf.errors import UserError
from albert_tf.storage import remote_files
from data_pipeline import dataset_info
from data_pipeline import records
from data_pipeline.masking import MaskingOptions
from data_pipeline.masking import default_max_predictions
from data_pipeline.masking import mask_tokens
from data_pipeline.seeds import derive_seed

_OPEN_FILES = 16
_SHUFFLE_BUFFER = 8192
_PREFETCHED = 4
# What data sets that are read together agree in; only packed ones have pairs a row.
_ALIKE = (
    "kind",
    "max_pairs_per_row",
    "max_seq_length",
    "masking",
    "sentence_objective",
)


def pretraining_dataset(
    input_file,
    tokenizer,
    batch_size,
    max_seq_length,
    max_predictions_per_seq,
    seed,
    training,
    num_input_pipelines=1,
    input_pipeline_id=0,
    masked_lm_prob=None,
):
    """Reads the files of create_pretraining_data, or of the official script.

    Args:
        input_file: a comma list of TFRecord files, globs and folders; of a folder,
            the files that its dataset_info.json lists or, without one, all with
            `.tfrecord` in their names.
        tokenizer: the model's tokenizer; None for records that are masked already,
            if nobody knows it.
        batch_size: sequences a batch, of this input pipeline.
        max_seq_length: tokens T a sequence.
        max_predictions_per_seq: predictions P a sequence.
        seed: int; equal seeds give equal batches.
        training: shuffle, repeat for ever and drop the last partial batch.
        num_input_pipelines, input_pipeline_id: which share of the records to take.
        masked_lm_prob: share of the tokens to predict, for dynamic data; by default
            the one that the data set was made for.

    Returns:
        A `tf.data.Dataset` of dicts: int32 input_ids, input_mask, segment_ids
        [batch, T], masked_lm_positions, masked_lm_ids [batch, P],
        sentence_order_labels [batch]; float32 masked_lm_weights [batch, P]. Its
        iterator can be checkpointed. Dynamic data gets a new mask in every epoch.
        Packed data, of K pairs a row at most, has int32 pair_ids [batch, T] and
        cls_positions [batch, K] besides; its int32 sentence_order_labels are
        [batch, K] and have float32 sentence_order_weights [batch, K].

    Raises:
        UserError: no such file, or a data set that does not fit these arguments.
    """
    paths = _find(input_file)
    descriptions = _descriptions(paths)
    info = _common(descriptions, paths)
    lengths = max_seq_length, max_predictions_per_seq
    for folder, each in descriptions.items():
        if each is not None:
            _check(each, folder, tokenizer, *lengths, masked_lm_prob)
    dataset = _records(paths, seed, training)
    dataset = dataset.shard(num_input_pipelines, input_pipeline_id)
    if training:
        dataset = dataset.shuffle(_SHUFFLE_BUFFER, seed=seed).repeat()
    dataset = dataset.batch(batch_size, drop_remainder=training)
    if info is not None and info["kind"] == "dynamic":
        options = _masking_options(
            info, tokenizer, max_predictions_per_seq, masked_lm_prob
        )
        mask_seed = derive_seed(seed, "mask", input_pipeline_id)
        dataset = _mask(dataset, options, max_seq_length, mask_seed)
    else:
        if masked_lm_prob is not None:
            raise UserError(
                f"{input_file} was masked when it was made: --masked_lm_prob needs "
                "data of create_pretraining_data --masking=dynamic."
            )
        pairs = info["max_pairs_per_row"] if info and info["kind"] == "packed" else None
        objective = info and info["sentence_objective"]
        dataset = _parse(dataset, *lengths, pairs, objective)
    return dataset.prefetch(_PREFETCHED)


def describe_data(input_file):
    """The dataset_info.json of each folder of the files; None for one without it.

    Raises:
        UserError: no such file, or a description that is none.
    """
    return _descriptions(_find(input_file))


def _descriptions(paths):
    folders = sorted({os.path.dirname(path) for path in paths})
    return {folder: dataset_info.read(folder) for folder in folders}


def _find(input_file):
    paths = []
    for pattern in filter(None, (p.strip() for p in input_file.split(","))):
        with remote_files() as gfile:
            if gfile.isdir(pattern):
                found = _files_of(pattern)
            else:
                found = sorted(filter(_may_hold_records, gfile.glob(pattern)))
        if not found:
            raise UserError(f"No pretraining data matches {pattern!r}.")
        paths.extend(found)
    if not paths:
        raise UserError(
            f"{input_file!r} names no pretraining data; pass a file, folder or glob."
        )
    return paths


def _files_of(folder):
    """The files of a folder's data set; without a description, the likely ones."""
    there = sorted(tf.io.gfile.listdir(folder))
    info = dataset_info.read(folder)
    if info is None:
        paths = [os.path.join(folder, name) for name in there if ".tfrecord" in name]
        return list(filter(_may_hold_records, paths))
    missing = sorted({*info["files"]} - {*there})
    if missing:
        raise UserError(
            f"{os.path.join(folder, dataset_info.NAME)} lists {missing[0]}, which is "
            "missing; copy it there, or make the data again."
        )
    return [os.path.join(folder, name) for name in sorted(info["files"])]


def _may_hold_records(path):
    name = os.path.basename(path)
    if name == dataset_info.NAME or name.endswith(dataset_info.UNFINISHED):
        return False
    return not tf.io.gfile.isdir(path)


def _common(descriptions, paths):
    """What all directories have in common; None if one has no description."""
    infos = list(descriptions.values())
    if None in infos:
        for folder, info in descriptions.items():
            if info is None:
                _check_official(folder, paths)
        logging.warning(
            "%s: no %s beside the files, so that nobody has checked that they fit the "
            "tokenizer",
            ", ".join(descriptions),
            dataset_info.NAME,
        )
        return None
    for info in infos[1:]:
        for name in _ALIKE:
            if info.get(name) != infos[0].get(name):
                raise UserError(
                    f"The input files belong to data sets that differ in {name}: "
                    f"{infos[0].get(name)} and {info.get(name)}."
                )
    return infos[0]


def _check_official(folder, paths):
    """Refuses records that only the description that `folder` lacks makes readable."""
    names = _feature_names(next(p for p in paths if os.path.dirname(p) == folder))
    for name, kind in records.DESCRIBED.items():
        if name in names:
            raise UserError(
                f"{os.path.join(folder, dataset_info.NAME)} is missing: it says how "
                f"the {kind} records beside it are to be read; copy it from where the "
                "data was made, or make the data again."
            )


def _feature_names(path):
    """Names of the first record's features; none for a file that cannot be read."""
    try:
        for record in tf.data.TFRecordDataset(path):
            return set(tf.train.Example.FromString(record.numpy()).features.feature)
    except (DecodeError, tf.errors.OpError):
        pass  # whoever reads all of it says what is wrong
    return set()


def _check(
    info, folder, tokenizer, max_seq_length, max_predictions_per_seq, masked_lm_prob
):
    where = folder or "."
    if tokenizer is None:
        if info["kind"] == "dynamic":
            raise UserError(
                f"The data set in {where} is to be masked in training: pass the "
                "vocabulary, --spm_model_file or --vocab_file."
            )
    elif info["tokenizer"]["fingerprint"] != tokenizer.fingerprint():
        raise UserError(
            f"The data set in {where} was made with another tokenizer "
            f"({info['tokenizer']['kind']}, {info['tokenizer']['vocab_size']} pieces, "
            f"do_lower_case={info['tokenizer']['do_lower_case']}) than the model's "
            f"({tokenizer.kind}, {tokenizer.vocab_size} pieces, "
            f"do_lower_case={tokenizer.do_lower_case}); make it again with the model's."
        )
    for name, wanted, made in (
        ("max_seq_length", max_seq_length, info["max_seq_length"]),
        (
            "max_predictions_per_seq",
            max_predictions_per_seq,
            predictions_needed(info, masked_lm_prob),
        ),
    ):
        # Dynamic records are not padded and not masked yet: more is not wrong.
        fits = wanted >= made if info["kind"] == "dynamic" else wanted == made
        if not fits:
            raise UserError(
                f"The data set in {where} has {name}={made}, training asks for "
                f"{wanted}; pass --{name}={made} or make the data set again."
            )


def predictions_needed(info, masked_lm_prob=None):
    """Predictions a sequence that the data of a description takes.

    Args:
        info: what dataset_info.json holds.
        masked_lm_prob: share of the tokens to predict, if another than the data was
            made for; of dynamic data only.
    """
    if masked_lm_prob is None or info["kind"] != "dynamic":
        return info["max_predictions_per_seq"]
    once = default_max_predictions(info["max_seq_length"], masked_lm_prob)
    return once * _passes(info["masking"])


def _masking_options(info, tokenizer, max_predictions_per_seq, masked_lm_prob):
    masking = dict(info["masking"])
    if masked_lm_prob is not None:
        masking["masked_lm_prob"] = masked_lm_prob
    return MaskingOptions(
        vocab_size=tokenizer.vocab_size,
        mask_id=tokenizer.mask_id,
        cls_id=tokenizer.cls_id,
        sep_id=tokenizer.sep_id,
        pad_id=tokenizer.pad_id,
        max_predictions_per_seq=max_predictions_per_seq // _passes(masking),
        **masking,
    )


def _passes(masking):
    # Tokens that change places are predicted besides those that are masked.
    return 2 if masking["do_permutation"] else 1


def _records(paths, seed, training):
    """Serialized records; in training the files come in a new order each epoch."""
    files = tf.data.Dataset.from_tensor_slices(paths)
    if training:
        files = files.shuffle(len(paths), seed=seed)
    return files.interleave(
        tf.data.TFRecordDataset,
        cycle_length=min(len(paths), _OPEN_FILES),
        num_parallel_calls=tf.data.AUTOTUNE,
        deterministic=True,
    )


def _parse(dataset, max_seq_length, num_predictions, max_pairs_per_row, objective):
    def parse(batch):
        lengths = max_seq_length, num_predictions
        if max_pairs_per_row is None:
            return records.parse_static(batch, *lengths, objective)
        return records.parse_packed(batch, *lengths, max_pairs_per_row, objective)

    return dataset.map(parse, num_parallel_calls=tf.data.AUTOTUNE)


def _mask(dataset, options, max_seq_length, seed):
    """Masks each batch by its number, which goes on counting from epoch to epoch."""

    def parse_and_mask(number, batch):
        features = records.parse_dynamic(batch, max_seq_length, options.pad_id)
        first, second = seed
        batch_seed = tf.stack(
            [tf.cast(first, tf.int64), tf.cast(second, tf.int64) ^ number]
        )
        masked = mask_tokens(
            features["input_ids"], features.pop("word_starts"), options, batch_seed
        )
        return {**features, **masked}

    return dataset.enumerate().map(parse_and_mask, num_parallel_calls=tf.data.AUTOTUNE)
