"""Tokenizes many texts on all processors."""

import contextlib
import os
import sys
import types

import numpy as np

from albert_tf.io.processes import calls_in_processes

CHARACTERS_OF_A_WORKER = 4_000_000
"""Encoding less text than this takes less time than starting a worker process."""


def available_cores():
    """Counts the processor cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1  # macOS and Windows do not say


def encode_flat_in_parallel(tokenizer, texts):
    """Calls `tokenizer.encode_flat(texts)`, in several processes for long texts.

    Returns:
        int32 concatenated ids of all texts, and int32 `[len(texts)]`, ids per text.

    Raises:
        UserError: a worker process was killed.
    """
    ends = np.cumsum([len(text) for text in texts], dtype=np.int64)
    characters = int(ends[-1]) if texts else 0
    workers = min(available_cores(), characters // CHARACTERS_OF_A_WORKER, len(texts))
    if workers < 2:
        return tokenizer.encode_flat(texts)
    shares = np.arange(1, workers) * (characters / workers)
    bounds = [0, *np.searchsorted(ends, shares).tolist(), len(texts)]
    parts = [
        (tokenizer, texts[a:b]) for a, b in zip(bounds[:-1], bounds[1:], strict=True)
    ]
    with contextlib.ExitStack() as processes:
        with _without_main_program():
            calls = calls_in_processes(_encode_flat, parts, workers)
            answers = processes.enter_context(calls)
        ids, lengths = zip(*(answer.result() for answer in answers), strict=True)
    return np.concatenate(ids), np.concatenate(lengths)


def _encode_flat(tokenizer, texts):
    return tokenizer.encode_flat(texts)


@contextlib.contextmanager
def _without_main_program():
    """Keeps processes that start in the block from importing the main program.

    The main program would import TensorFlow, which takes longer than the encoding.
    """
    main = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main
