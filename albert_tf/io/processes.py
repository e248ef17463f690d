"""Worker processes, which end with their parent, and a check against forks."""

import concurrent.futures
import concurrent.futures.process
import contextlib
import multiprocessing
import os
import signal
import threading

from albert_tf.errors import UserError
from albert_tf.io import tensorflow_import

CONTEXT = multiprocessing.get_context("spawn")
"""Workers are spawned: a fork of a process that runs TensorFlow may deadlock."""
_computed = []  # the id of the process that has computed, inherited by its forks


def check_process():
    """Records that this process computes with TensorFlow.

    Raises:
        UserError: the process is a fork of one that has computed, and would hang.
    """
    if not _computed:
        _computed.append(os.getpid())
    if _computed[0] != os.getpid():
        raise UserError(
            f"Process {os.getpid()} was forked from {_computed[0]}, where TensorFlow "
            "has computed, and would hang; start it with "
            'multiprocessing.get_context("spawn"), or load the model after the fork.'
        )


@contextlib.contextmanager
def calls_in_processes(function, arguments, workers, initializer=None, initargs=()):
    """Calls `function` in worker processes while the block collects the results.

    An exception that leaves the block kills the workers, even busy ones.

    Args:
        function: a function of a module, which workers import.
        arguments: list of tuples, the arguments of each call.
        workers: int, the largest number of processes.
        initializer: None, or a function called with `initargs` when a worker starts.
        initargs: tuple.

    Yields:
        A list of `concurrent.futures.Future`, one for each call, in order.

    Raises:
        UserError: a worker was killed.
    """
    lifeline, end_of_lifeline = CONTEXT.Pipe(duplex=False)
    others = set(multiprocessing.active_children())
    with concurrent.futures.ProcessPoolExecutor(
        max(1, min(workers, len(arguments))),
        CONTEXT,
        _start_worker,
        (lifeline, _Quiet(), initializer, initargs),
    ) as executor:
        try:
            with signals_held():
                futures = [executor.submit(function, *each) for each in arguments]
            yield futures
        except BaseException as error:
            answers = executor._result_queue
            executor.shutdown(wait=False, cancel_futures=True)
            end_of_lifeline.close()
            # Workers that are still starting do not watch the lifeline yet; without
            # this process they would print tracebacks.
            for worker in set(multiprocessing.active_children()) - others:
                worker.kill()
            # The executor waits for the rest of a killed worker's answer as long as the
            # sending end is open, which this process holds, too.
            answers._writer.close()
            if isinstance(error, concurrent.futures.process.BrokenProcessPool):
                raise UserError(
                    "A worker process was killed (is there too little memory?); run "
                    "the command again."
                ) from error
            raise


@contextlib.contextmanager
def signals_held():
    """Delays SIGINT and SIGTERM until the end of the block, which starts processes.

    An interrupted `multiprocessing` would leave a process that waits for work and then
    prints a traceback. The new processes inherit the blocked SIGINT: a terminal sends
    Ctrl-C to them, too, and only this process handles it.
    """
    noted = []
    previous = {}
    if threading.current_thread() is threading.main_thread():  # the others get none
        for number in (signal.SIGINT, signal.SIGTERM):
            previous[number] = signal.signal(number, lambda n, _: noted.append(n))
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for number, handler in previous.items():
            signal.signal(number, handler)
        for number in dict.fromkeys(noted):
            signal.raise_signal(number)


def end_with_parent(lifeline):
    """Ends this worker process as soon as the other end of a pipe is closed.

    Only the parent holds the other end, so its death closes the pipe on every system.
    Linux's PR_SET_PDEATHSIG would fire already when the thread ends that started the
    worker.
    """

    def wait():
        lifeline.poll(None)
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


class _Quiet:
    """Quiets TensorFlow when a worker unpickles it.

    It is the first argument: unpickling the later ones imports TensorFlow.
    """

    def __reduce__(self):
        return tensorflow_import.install, ()


def _start_worker(lifeline, _, initializer, initargs):
    end_with_parent(lifeline)
    if initializer:
        initializer(*initargs)
