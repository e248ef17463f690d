"""Tokenizes many texts on all processors.

`python -m albert_tf.tokenization.parallel FD` is the worker: it reads a pickled
(tokenizer, texts) from standard input and answers with the result of `encode_flat`. It
ends when the other end of the pipe with the file descriptor FD is closed.
Processes of `multiprocessing` would not do: forking a process that runs TensorFlow may
deadlock, and spawned ones import the main program, TensorFlow included, once more.
"""

import concurrent.futures
import contextlib
import functools
import multiprocessing.connection
import os
import pickle
import subprocess
import sys

import numpy as np

from albert_tf.errors import UserError
from albert_tf.io.processes import end_with_parent
from albert_tf.io.processes import signals_held

CHARACTERS_OF_A_WORKER = 4_000_000
"""Less text than this is done before a worker process has started."""


def available_cores():
    """Counts the processor cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1  # macOS and Windows do not say


def encode_flat_in_parallel(tokenizer, texts):
    """Calls `tokenizer.encode_flat(texts)`, in several processes for enough text.

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
    with _worker_processes(workers) as processes:
        answers = _ask_workers(processes, tokenizer, parts)
    ids, lengths = zip(*answers, strict=True)
    return np.concatenate(ids), np.concatenate(lengths)


@contextlib.contextmanager
def _worker_processes(count):
    """Starts `count` workers, which end with the block or with this process."""
    lifeline, end_of_lifeline = os.pipe()
    processes = []
    with contextlib.ExitStack() as closed:
        closed.callback(os.close, lifeline)
        closed.callback(os.close, end_of_lifeline)
        try:
            with signals_held():
                for _ in range(count):
                    processes.append(closed.enter_context(_start_worker(lifeline)))
            yield processes
        finally:
            _kill(processes)


def _start_worker(lifeline):
    return subprocess.Popen(
        [sys.executable, "-m", "albert_tf.tokenization.parallel", str(lifeline)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        pass_fds=[lifeline],
    )


def _kill(processes):
    for process in processes:
        process.kill()


def _ask_workers(processes, tokenizer, parts):
    ask = functools.partial(_ask_worker, tokenizer)
    with concurrent.futures.ThreadPoolExecutor(len(parts)) as pool:
        try:
            return list(pool.map(ask, processes, parts))
        except BaseException:
            _kill(processes)  # The pool waits for its threads, and they for these.
            raise


def _ask_worker(tokenizer, process, texts):
    answer, _ = process.communicate(pickle.dumps((tokenizer, texts)))
    if process.returncode:
        raise UserError(
            f"A tokenizing process ended with status {process.returncode} (is there "
            "too little memory?); start the command again."
        )
    return pickle.loads(answer)


def _work(lifeline):
    end_with_parent(multiprocessing.connection.Connection(lifeline, writable=False))
    try:
        tokenizer, texts = pickle.load(sys.stdin.buffer)
    except (EOFError, pickle.UnpicklingError):
        sys.exit(1)  # Its parent has ended while it wrote.
    pickle.dump(tokenizer.encode_flat(texts), sys.stdout.buffer)


if __name__ == "__main__":
    _work(int(sys.argv[1]))
