"""Dynamic batching: one call of the model answers several concurrent requests."""

import asyncio
import concurrent.futures
import contextlib
import dataclasses

import numpy as np

from albert_tf.serving.inputs import lengths_of
from albert_tf.tasks.prediction import joined

_SPECIAL_TOKENS = 8  # bytes of text that cost as much as [CLS] and [SEP]
_MOST_PADDED = 1.25  # maximum ratio of a batch's padded length to its texts' length


class Busy(Exception):
    """The queue is full: more rows wait than the server accepts."""


@dataclasses.dataclass(frozen=True, eq=False)
class _Request:
    """Queued rows that wait for their answers."""

    columns: dict  # lists by input name
    lengths: np.ndarray  # bytes of each row, `[rows]`
    future: asyncio.Future  # gets the outputs: a dict of arrays `[rows, …]`

    @property
    def rows(self):
        return len(self.lengths)


class DynamicBatcher:
    """Batches queued requests of similar length.

    Calling it with the columns of a request returns the request's outputs. A request
    with more than `max_rows` rows is split into parts that queue one after the other,
    so that it does not delay other clients. Cancelling a call removes its rows from the
    queue.

    Args:
        answer: function that maps columns, lists by input name, to a dict of arrays
            `[rows, …]`; it runs in threads.
        workers: number of concurrent calls of `answer`.
        limits: the `ServeOptions`.

    Raises:
        Exception: whatever `answer` raises, only for the request that causes it.
        Busy: the queue is full.
    """

    def __init__(self, answer, workers, limits):
        self._answer, self._workers, self._limits = answer, workers, limits
        self._waiting = []
        self._changed = asyncio.Condition()
        self._threads = concurrent.futures.ThreadPoolExecutor(workers)

    async def __call__(self, columns):
        lengths = lengths_of(columns) + _SPECIAL_TOKENS
        limits, order = self._limits, np.argsort(lengths, kind="stable")
        if self.rows() + min(len(order), limits.max_rows) > limits.max_waiting_rows:
            most = limits.max_waiting_rows
            raise Busy(f"more than {most} rows wait; ask again later.")
        found = []
        for start in range(0, max(len(order), 1), limits.max_rows):
            part = order[start : start + limits.max_rows]
            rows = {name: [c[i] for i in part] for name, c in columns.items()}
            found.append(await self._queue(rows, lengths[part]))
        back = np.argsort(order)
        return {k: joined([f[k] for f in found], "")[back] for k in found[0]}

    async def _queue(self, columns, lengths):
        """Queues rows that fit into one batch; returns their outputs."""
        future = asyncio.get_running_loop().create_future()
        request = _Request(columns, lengths, future)
        self._waiting.append(request)
        try:
            async with self._changed:
                self._changed.notify_all()
            return await future
        finally:
            if request in self._waiting:
                self._waiting.remove(request)

    def rows(self):
        """Counts the queued rows, except later parts of large requests."""
        return sum(request.rows for request in self._waiting)

    async def run(self):
        """Answers requests until cancelled."""
        await asyncio.gather(*(self._work() for _ in range(self._workers)))

    async def _work(self):
        loop, limits = asyncio.get_running_loop(), self._limits
        while True:
            async with self._changed:
                await self._changed.wait_for(lambda: self._waiting)
                full = self._changed.wait_for(lambda: self.rows() >= limits.max_rows)
                with contextlib.suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(full, limits.max_delay_ms / 1000)
            if not self._waiting:  # another worker took them
                continue
            requests = self._take_batch()
            found = await loop.run_in_executor(self._threads, self._answers, requests)
            for request, outputs in zip(requests, found, strict=True):
                if request.future.done():  # the client has gone
                    continue
                if isinstance(outputs, Exception):
                    request.future.set_exception(outputs)
                else:
                    request.future.set_result(outputs)

    def _take_batch(self):
        """Takes the oldest request and others of similar length from the queue."""
        oldest, taken = self._waiting[0], []
        longest = oldest.lengths.max(initial=0)
        rows = real = 0
        for request in sorted(
            (r for r in self._waiting if r.columns.keys() == oldest.columns.keys()),
            key=lambda r: abs(r.lengths.max(initial=0) - longest),
        ):
            rows += request.rows
            real += request.lengths.sum()
            longest = max(longest, request.lengths.max(initial=0))
            if taken and (
                rows > self._limits.max_rows or rows * longest > _MOST_PADDED * real
            ):
                break
            taken.append(request)
        self._waiting = [r for r in self._waiting if r not in taken]
        return taken

    def _answers(self, requests):
        """Returns the outputs of each request, or the error that it causes."""
        columns = {
            name: [value for request in requests for value in request.columns[name]]
            for name in requests[0].columns
        }
        try:
            outputs = self._answer(columns)
        except Exception as error:  # one of the requests may cause it
            if len(requests) == 1:
                return [error]
            return [self._answers([request])[0] for request in requests]
        found, start = [], 0
        for request in requests:
            end = start + request.rows
            found.append({name: values[start:end] for name, values in outputs.items()})
            start = end
        return found
