"""Tokenizes many texts on all processors.

`python -m albert_tf.tokenization.parallel` is the worker: it reads a pickled
(tokenizer, texts) from standard input and answers with what `encode_flat` returns.
Processes of `multiprocessing` would not do: forking a process that runs TensorFlow may
deadlock, and spawned ones import the main program, TensorFlow included, once more.
"""

import concurrent.futures
import functools
import os
import pickle
import subprocess
import sys

import numpy as np

from albert_tf.errors import UserError

CHARACTERS_OF_A_WORKER = 4_000_000
"""Less text than this is done before a worker process has started."""


def available_cores():
    """The number of processor cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1  # macOS and Windows do not say


def encode_flat_in_parallel(tokenizer, texts):
    """`tokenizer.encode_flat(texts)`, by several processes if there is enough text.

    Args:
        tokenizer: as returned by `albert_tf.load_tokenizer`.
        texts: list of str.

    Returns:
        int32 ids of all texts in a row, and int32 `[len(texts)]`, how many each has.

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
    parts = [texts[a:b] for a, b in zip(bounds[:-1], bounds[1:], strict=True)]
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        answers = list(pool.map(functools.partial(_ask_worker, tokenizer), parts))
    ids, lengths = zip(*answers, strict=True)
    return np.concatenate(ids), np.concatenate(lengths)


def _ask_worker(tokenizer, texts):
    worker = subprocess.run(
        [sys.executable, "-m", "albert_tf.tokenization.parallel"],
        input=pickle.dumps((tokenizer, texts)),
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    if worker.returncode:
        raise UserError(
            f"A tokenizing process ended with status {worker.returncode} (is there too "
            "little memory?); start the command again."
        )
    return pickle.loads(worker.stdout)


def _work():
    tokenizer, texts = pickle.load(sys.stdin.buffer)
    pickle.dump(tokenizer.encode_flat(texts), sys.stdout.buffer)


if __name__ == "__main__":
    _work()
