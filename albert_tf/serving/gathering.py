"""Concurrent requests, answered together."""

import asyncio
import collections
import concurrent.futures
import contextlib
import dataclasses

from albert_tf.errors import UserError


class Busy(Exception):
    """More rows wait than the server takes."""


@dataclasses.dataclass(frozen=True)
class Request:
    """Rows that wait for their answers.

    Attributes:
        columns: a list for each input by name.
        rows: how many.
        future: gets the outputs: a dict of arrays `[rows, …]`.
    """

    columns: dict
    rows: int
    future: asyncio.Future


class Gathering:
    """Answers requests that come at the same time in one call of the model.

    Args:
        answer: maps columns, a list for each input by name, to a dict of arrays
            `[rows, …]`; it runs in a thread of its own, one call at a time.
        max_rows: rows of a call at most, unless one request alone has more.
        max_seconds: how long a request waits for others, where no call is running.
        max_waiting: rows that may wait at once.

    Call: the columns of a request, to its outputs.

    Raises:
        UserError: as `answer`, for the requests that it concerns alone.
        Busy: too many rows wait.
    """

    def __init__(self, answer, max_rows, max_seconds, max_waiting):
        self._answer = answer
        self.max_rows, self.max_seconds = max_rows, max_seconds
        self.max_waiting = max_waiting
        self.calls = 0
        self._waiting = collections.deque()
        self._changed = asyncio.Condition()
        self._thread = concurrent.futures.ThreadPoolExecutor(1)

    async def __call__(self, columns):
        rows = len(next(iter(columns.values())))
        if self.rows() + rows > self.max_waiting:
            raise Busy(f"more than {self.max_waiting} rows wait; ask again later.")
        future = asyncio.get_running_loop().create_future()
        self._waiting.append(Request(columns, rows, future))
        async with self._changed:
            self._changed.notify()
        return await future

    def rows(self):
        """Counts the rows that wait."""
        return sum(request.rows for request in self._waiting)

    async def run(self):
        """Answers requests until it is cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            async with self._changed:
                await self._changed.wait_for(lambda: self._waiting)
                full = self._changed.wait_for(lambda: self.rows() >= self.max_rows)
                with contextlib.suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(full, self.max_seconds)
            requests = self._next()
            found = await loop.run_in_executor(self._thread, self._answers, requests)
            for request, outputs in zip(requests, found, strict=True):
                if request.future.done():  # whoever asked has gone
                    continue
                if isinstance(outputs, Exception):
                    request.future.set_exception(outputs)
                else:
                    request.future.set_result(outputs)

    def _next(self):
        """Takes the requests of the next call: the oldest, with the same inputs."""
        requests, rows = [], 0
        while self._waiting:
            request = self._waiting[0]
            if requests and (
                rows + request.rows > self.max_rows
                or request.columns.keys() != requests[0].columns.keys()
            ):
                break
            rows += request.rows
            requests.append(self._waiting.popleft())
        return requests

    def _answers(self, requests):
        """Returns the outputs of each request, or the error that it gets."""
        columns = {
            name: [value for request in requests for value in request.columns[name]]
            for name in requests[0].columns
        }
        self.calls += 1
        try:
            outputs = self._answer(columns)
        except Exception as error:  # of one request, perhaps
            if len(requests) == 1:
                return [error]
            if isinstance(error, UserError):
                return [self._answers([request])[0] for request in requests]
            return [error] * len(requests)
        found, start = [], 0
        for request in requests:
            end = start + request.rows
            found.append({name: values[start:end] for name, values in outputs.items()})
            start = end
        return found
