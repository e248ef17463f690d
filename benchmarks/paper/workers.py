"""Runs that do not wait for each other, side by side, each on cores of its own."""

import concurrent.futures
import contextlib
import os
import queue

from absl import logging


@contextlib.contextmanager
def pool(num_workers):
    """Gives an executor of `num_workers` threads that divide this process's cores.

    A command that a thread starts is kept on the cores of its thread: a tiny model does
    not use a second core well, and two runs would take turns on both. Jobs begin in the
    order in which they are submitted, so one may wait for an earlier one. Where the
    block ends with an error, jobs that have not begun are given up, and the others run
    to their end.
    """
    shares = queue.SimpleQueue()
    for share in _shares(num_workers):
        shares.put(share)

    def keep_to_a_share():
        cores = shares.get()
        if cores:
            os.sched_setaffinity(0, cores)

    executor = concurrent.futures.ThreadPoolExecutor(num_workers, "", keep_to_a_share)
    try:
        yield executor
    except BaseException:
        logging.info("Waiting for the runs that have begun")
        raise
    finally:
        executor.shutdown(cancel_futures=True)


def _shares(num_workers):
    """Returns `num_workers` lists of cores, empty where the platform is silent."""
    if not hasattr(os, "sched_setaffinity"):
        return [[]] * num_workers
    cores = sorted(os.sched_getaffinity(0))
    return [
        cores[place::num_workers] or [cores[place % len(cores)]]
        for place in range(num_workers)
    ]
