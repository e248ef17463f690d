"""Recordings as the official code would leave them, of our own windows."""

import json

import numpy as np

from albert_tf.tasks.question_answering.questions import read_paragraphs
from albert_tf.tasks.question_answering.windows import WindowSizes
from albert_tf.tasks.question_answering.windows import windows_of
from tests.corpus import write_squad
from tools import verify
from tools.verify.recordings import tokenizer_of
from tools.verify.squad_windows import features_of

WIDTH = 10


def recorded_arrays(windows):
    """Returns the arrays of a recording, by name."""
    tokens = windows.lengths - windows.first_lengths - 1
    maps = np.full((2, len(windows), WIDTH), -1)
    best = np.full((len(windows), WIDTH), -1, np.int8)
    spans = windows.padded(windows.spans, WIDTH)
    pairs = zip(windows.first_lengths, tokens, strict=True)
    for row, (first, count) in enumerate(pairs):
        inside = slice(first, first + count)
        maps[0, row, :count] = spans[row, inside, 0]
        maps[1, row, :count] = spans[row, inside, 1] - 1
        best[row, inside] = windows.padded(windows.is_max_context, WIDTH)[row, inside]
    return {
        "example_index": windows.question_index,
        "doc_span_index": windows.window_index,
        "paragraph_len": windows.lengths,
        "paragraph_start": windows.first_lengths,
        "paragraph_tokens": tokens,
        "token_is_max_context": best,
        "tok_start_to_orig_index": maps[0],
        "tok_end_to_orig_index": maps[1],
        "start_position": windows.answers[:, 0],
        "end_position": windows.answers[:, 1],
        "is_impossible": windows.answers[:, 2],
        **features_of(windows, WIDTH),
    }


def failed(folder):
    deviations, _ = verify.verify(folder)
    return [deviation.name for deviation in deviations if not deviation.passed]


def record(folder, paragraphs):
    """Records windows of questions on texts; returns the windows.

    Args:
        folder: where the tokenizer lies.
        paragraphs: those of `write_squad`.
    """
    sizes = {"max_seq_length": WIDTH, "doc_stride": 3, "max_query_length": 3}
    for part in ("dev", "train"):
        write_squad(folder, *paragraphs, name=f"set_{part}.json")
    [windows] = windows_of(
        read_paragraphs(folder / "set_dev.json"),
        tokenizer_of(folder, None, True),
        WindowSizes(**sizes),
        {},
        is_training=True,
    )
    facts = {**sizes, "do_lower_case": True, "dropped": []}
    facts["qids"] = [question.id for question in windows.questions]
    (folder / "features_set.json").write_text(json.dumps(facts))
    np.savez(folder / "features_set.npz", **recorded_arrays(windows))
    return windows
