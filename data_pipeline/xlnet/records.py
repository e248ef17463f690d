"""Records of a window of documents for a permutation LM: segments of streams."""

import random

import numpy as np

from data_pipeline.records import examples
from data_pipeline.records.dataset_info import PERMUTATION
from data_pipeline.seeds import derive_seed
from data_pipeline.sequences.instances import join_documents
from data_pipeline.xlnet.streams import cut_stream
from data_pipeline.xlnet.streams import lay_out

_BATCH = 256


def describe(options):
    """Returns what dataset_info.json says of the records that `DataOptions` make."""
    return {
        "kind": PERMUTATION,
        "max_predictions_per_seq": options.predictions,
        "sentence_objective": options.pair_objective,
        "bi_data": options.bi_data,
    }


def records(window, options, passes, seed, counts):
    """Yields lists of the serialized records of a window, in the order of its text.

    The documents of a window form a stream, which marks the end of each; with
    `options.bi_data`, the same tokens in reverse form another stream. Each pass splits
    the texts anew. The arguments are those of `sequences.records.records`.
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
    """Returns the id after each document: `<eod>`, as in the official data.

    If the vocabulary lacks it, [MASK] replaces it, since no input of XLNet contains it.
    """
    pieces = list(tokenizer.pieces)
    return pieces.index("<eod>") if "<eod>" in pieces else tokenizer.mask_id


def _backward(window):
    boundaries = [window.segments[-1] - place for place in window.segments[::-1]]
    return window.ids[::-1], window.word_starts[::-1], boundaries
