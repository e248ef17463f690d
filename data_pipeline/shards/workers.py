"""Workers that write the shards of a data set, in this process or in others."""

import concurrent.futures
import queue
import time

import tensorflow as tf

from albert_tf.display.progress import Progress
from albert_tf.io import processes
from data_pipeline.shards.writing import write_shard

_POLL_SECONDS = 0.2
_reports = None


def write_shards(options, files, paths, shards, finished, workers=1):
    """Writes `shards` and shows the progress.

    `finished` is called with the number and the result of each; the other arguments
    are those of `write_shard`.
    """
    total, count = sum(file.size for file in files), len(paths["train"])
    share = sum(total * (k + 1) // count - total * k // count for k in shards)
    with Progress(share, unit="bytes", label="creating data") as progress:
        report = _reporter(progress)
        if workers == 1 or len(shards) <= 1:
            for shard in shards:
                finished(shard, write_shard(options, files, shard, paths, report))
        else:
            work = [(options, files, shard, paths) for shard in shards]
            _write_in_processes(work, workers, finished, report)


def _reporter(progress):
    """Returns a function that adds up the bytes and tokens done and shows them."""
    started, tokens = time.monotonic(), 0

    def report(new_bytes, new_tokens):
        nonlocal tokens
        tokens += new_tokens
        rate = tokens / max(time.monotonic() - started, 1e-9)
        done = min(progress.done + new_bytes, progress.total)
        progress.update(done, [f"{rate:,.0f} tokens/s"])

    return report


def _write_in_processes(work, workers, finished, report):
    reports = processes.CONTEXT.Queue()
    with processes.calls_in_processes(
        _write_in_worker, work, workers, initializer=_start_worker, initargs=(reports,)
    ) as futures:
        shard_of = {f: shard for f, (_, _, shard, _) in zip(futures, work, strict=True)}
        waiting = set(futures)
        while waiting:
            done, waiting = concurrent.futures.wait(
                waiting, _POLL_SECONDS, concurrent.futures.FIRST_COMPLETED
            )
            _drain(reports, report)
            for future in done:
                finished(shard_of[future], future.result())
        _drain(reports, report)


def _drain(reports, report):
    while True:
        try:
            report(*reports.get_nowait())
        except queue.Empty:
            return


def _start_worker(reports):
    global _reports
    _reports = reports
    use_one_cpu()


def _write_in_worker(options, files, shard, paths):
    return write_shard(
        options, files, shard, paths, lambda *report: _reports.put(report)
    )


def use_one_cpu():
    """Keeps TensorFlow off accelerators and to one thread: workers are the threads."""
    try:
        tf.config.set_visible_devices([], "GPU")
        tf.config.threading.set_intra_op_parallelism_threads(1)
        tf.config.threading.set_inter_op_parallelism_threads(1)
    except RuntimeError:
        pass  # TensorFlow is in use already; its settings stay.
