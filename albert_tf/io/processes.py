"""Worker processes, which leave Ctrl-C to their parent, and forks, which hang."""

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
    """Notes that this process computes with TensorFlow.

    Raises:
        UserError: it is a fork of one that has computed.
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
    """Has worker processes call `function`, while the block waits for the answers.

    An exception that leaves the block ends the workers, even busy ones.

    Args:
        function: callable of a module; workers import it.
        arguments: list of tuples, the arguments of each call.
        workers: int, the most processes to start.
        initializer: None, or called with `initargs` in each worker when it starts.
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
            # Those that are starting do not watch the lifeline yet; without this
            # process they would print tracebacks.
            for worker in set(multiprocessing.active_children()) - others:
                worker.kill()
            # The executor waits for the rest of an answer whose worker was killed, as
            # long as anybody could send it; this process itself holds that end, too.
            answers._writer.close()
            if isinstance(error, concurrent.futures.process.BrokenProcessPool):
                raise UserError(
                    "A worker process was killed (is there too little memory?); run "
                    "the command again."
                ) from error
            raise


@contextlib.contextmanager
def signals_held():
    """Handles SIGINT and SIGTERM only after the block, which starts processes.

    Left half-way, `multiprocessing` would have started a process that waits for work do
    and then prints a traceback. The new processes inherit that SIGINT is blocked: a
    terminal sends Ctrl-C to them, too, and they leave it to this process.
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

    A worker would wait for work for ever, or finish unwanted work. A pipe, of which
    only the parent holds the other end, tells every system of its death; Linux's
    PR_SET_PDEATHSIG would already send its signal when the thread that started the
    worker ends.
    """

    def wait():
        lifeline.poll(None)
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


class _Quiet:
    """Quiets TensorFlow where it is unpickled: in a worker, before later objects.

    The modules of that are imported with it, and import TensorFlow.
    """

    def __reduce__(self):
        return tensorflow_import.install, ()


def _start_worker(lifeline, _, initializer, initargs):
    end_with_parent(lifeline)
    if initializer:
        initializer(*initargs)
