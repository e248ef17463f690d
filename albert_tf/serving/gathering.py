"""Concurrent requests, answered together."""

import asyncio
import concurrent.futures
import contextlib
import dataclasses
import threading

import numpy as np

from albert_tf.serving.inputs import lengths_of
from albert_tf.tasks.prediction import joined

_SPECIAL_TOKENS = 8  # the bytes of text whose tokens are as many as [CLS] and [SEP]
_MOST_PADDED = 1.25  # the length of the rows of a call, padded, in that of their texts


class Busy(Exception):
    """More rows wait than the server takes."""


@dataclasses.dataclass(frozen=True, eq=False)
class Request:
    """Rows that wait for their answers."""

    columns: dict  # a list for each input by name
    lengths: np.ndarray  # of the rows, in bytes, `[rows]`
    future: asyncio.Future  # gets the outputs: a dict of arrays `[rows, …]`

    @property
    def rows(self):
        return len(self.lengths)


class Gathering:
    """Answers requests of similar length that wait together in one call of the model.

    Args:
        answer: maps columns, a list for each input by name, to a dict of arrays
            `[rows, …]`; it runs in threads, as many calls at a time as workers.
        workers: how many.
        limits: the `Limits` of `albert-tf serve`.

    Call: the columns of a request, to its outputs.

    A request of more than `max_rows` waits anew after each part of so many, so that it
    does not delay others. Whoever cancels the call takes the rows out that wait.

    Raises:
        Exception: as `answer`, for the requests that it concerns alone.
        Busy: too many rows wait.
    """

    def __init__(self, answer, workers, limits):
        self._answer, self._workers, self._limits = answer, workers, limits
        self.calls = 0
        self._lock = threading.Lock()
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
            found.append(await self._turn(rows, lengths[part]))
        back = np.argsort(order)
        return {k: joined([f[k] for f in found], "")[back] for k in found[0]}

    async def _turn(self, columns, lengths):
        """Waits for the outputs of rows that are answered in one call."""
        future = asyncio.get_running_loop().create_future()
        request = Request(columns, lengths, future)
        self._waiting.append(request)
        try:
            async with self._changed:
                self._changed.notify_all()
            return await future
        finally:
            if request in self._waiting:
                self._waiting.remove(request)

    def rows(self):
        """Counts the rows that wait, without the later parts of large requests."""
        return sum(request.rows for request in self._waiting)

    async def run(self):
        """Answers requests until it is cancelled."""
        await asyncio.gather(*(self._work() for _ in range(self._workers)))

    async def _work(self):
        """Answers requests, one call after the other."""
        loop, limits = asyncio.get_running_loop(), self._limits
        while True:
            async with self._changed:
                await self._changed.wait_for(lambda: self._waiting)
                full = self._changed.wait_for(lambda: self.rows() >= limits.max_rows)
                with contextlib.suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(full, limits.max_delay_ms / 1000)
            if not self._waiting:  # another worker took them
                continue
            requests = self._next()
            found = await loop.run_in_executor(self._threads, self._answers, requests)
            for request, outputs in zip(requests, found, strict=True):
                if request.future.done():  # whoever asked has gone
                    continue
                if isinstance(outputs, Exception):
                    request.future.set_exception(outputs)
                else:
                    request.future.set_result(outputs)

    def _next(self):
        """Takes the oldest request, and those that take about as long."""
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
        """Returns the outputs of each request, or the error that it gets."""
        columns = {
            name: [value for request in requests for value in request.columns[name]]
            for name in requests[0].columns
        }
        with self._lock:
            self.calls += 1
        try:
            outputs = self._answer(columns)
        except Exception as error:  # of one request, perhaps
            if len(requests) == 1:
                return [error]
            return [self._answers([request])[0] for request in requests]
        found, start = [], 0
        for request in requests:
            end = start + request.rows
            found.append({name: values[start:end] for name, values in outputs.items()})
            start = end
        return found
