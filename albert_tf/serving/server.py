"""A `Predictor` behind TensorFlow Serving's REST interface, as a Starlette application.

https://www.tensorflow.org/tfx/serving/api_rest describes requests and responses.
"""

import asyncio
import base64
import concurrent.futures
import contextlib
import functools
import gzip
import http
import io
import json
import time
import zlib

import h11
import prometheus_client
import tensorflow as tf
import uvicorn
from absl import logging
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse
from starlette.responses import Response
from starlette.routing import Route
from uvicorn.protocols.http.h11_impl import H11Protocol

from albert_tf.errors import UserError
from albert_tf.io.files import parse_json
from albert_tf.serving.gathering import Busy
from albert_tf.serving.gathering import Gathering
from albert_tf.tasks.serving import EXIT_LAYER
from albert_tf.tokenization.parallel import available_cores

SIGNATURE = "serving_default"
_MOST_LAYERS = 24  # of the released models
_SPENT = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)  # seconds
_DRAINING = 30  # seconds in which requests are answered after SIGTERM
_LATER = {"retry-after": "1"}
_GONE = 499  # nginx's status of a client that hung up
_SHORT = 1 << 14  # bytes of a request, or values of an answer, converted in no time
_LONGEST_SENTENCE = 1000  # characters; an error may repeat a name of the request
_FEW_CHUNKS, _CHUNK = 1024, 256  # of a body, and the bytes for each one more


class Server:
    """The answers to HTTP requests.

    Args:
        predictor: a `Predictor`.
        name: of the model in paths.
        version: of the model, an int.
        limits: the `Limits` of `albert-tf serve`.
    """

    def __init__(self, predictor, name, version, limits):
        self._predictor, self._limits = predictor, limits
        self._name, self._version = name, version
        self._gathering = None
        registry = self._registry = prometheus_client.CollectorRegistry()
        self._requests = prometheus_client.Counter(
            "albert_requests",
            "Requests to predict, and others that were refused.",
            ["status"],
            registry=registry,
        )
        self._connections = Connections(
            limits, lambda refused: self._requests.labels(refused).inc()
        )
        # One: threads share Python's lock with the loop that answers all clients.
        self._aside = concurrent.futures.ThreadPoolExecutor(1)
        self._rows = prometheus_client.Counter(
            "albert_rows", "Rows that were answered.", registry=registry
        )
        self._seconds = prometheus_client.Histogram(
            "albert_request_seconds",
            "Time from a request to its answer.",
            buckets=_SPENT,
            registry=registry,
        )
        self._layers = None
        if EXIT_LAYER in predictor.signature.structured_outputs:
            self._layers = prometheus_client.Histogram(
                "albert_exit_layer",
                "Layers that answers took.",
                buckets=range(1, _MOST_LAYERS + 1),
                registry=registry,
            )
        waiting = prometheus_client.Gauge(
            "albert_waiting_rows", "Rows that wait.", registry=registry
        )
        waiting.set_function(lambda: self._gathering.rows())
        calls = prometheus_client.Gauge(
            "albert_model_calls", "Calls of the model.", registry=registry
        )
        calls.set_function(lambda: self._gathering.calls)

    def config(self, backlog):
        """Makes the settings of uvicorn: the application behind its `Connections`."""
        return uvicorn.Config(
            self.application(),
            http=functools.partial(Connection, self._connections),
            ws="none",
            lifespan="on",
            proxy_headers=False,
            access_log=False,
            log_level="error",
            backlog=backlog,
            timeout_keep_alive=self._limits.max_read_seconds,
            timeout_graceful_shutdown=_DRAINING,
        )

    def application(self):
        """Makes the Starlette application."""
        model = "/v1/models/{name}"
        routes = [
            Route("/metrics", self._metrics),
            Route("/healthz", self._health),
            Route("/v1/models", self._models),
        ]
        for path in (model, f"{model}/versions/{{version}}"):
            routes += [
                Route(f"{path}:predict", self._predict, methods=["POST"]),
                Route(f"{path}/metadata", self._metadata),
                Route(path, self._status),
            ]
        return Starlette(
            routes=routes,
            lifespan=self._running,
            exception_handlers={HTTPException: self._refused},
        )

    @contextlib.asynccontextmanager
    async def _running(self, application):
        limits = self._limits
        self._gathering = Gathering(
            functools.partial(self._predictor.outputs, batch_size=limits.max_rows),
            limits.workers or _workers(),
            limits,
        )
        running = (self._gathering.run(), self._connections.watch())
        tasks = [*map(asyncio.create_task, running)]
        yield
        for task in tasks:
            task.cancel()

    async def _predict(self, request):
        start, status, headers = time.perf_counter(), 500, {}
        try:
            self._check_path(request)
            columns, by_row = await self._body(request)
            content = await _unless_gone(request, self._predicted(columns, by_row))
            status = 200
        except UserError as error:
            status, content = 400, _said(error)
        except Busy as error:
            status, content, headers = 503, _said(error), _LATER
        except HTTPException as error:
            status, content = error.status_code, _said(error.detail)
            headers = dict(error.headers or {})
        except ClientDisconnect:
            status, content = request.scope.get("refused", _GONE), b""
        except asyncio.CancelledError:  # it has taken longer than the end may
            status, content, headers = 503, _said("The server ends."), _LATER
        except Exception:
            logging.exception("A request failed.")
            content = _said("The server failed; its log says why.")
        finally:
            self._requests.labels(status).inc()
            self._seconds.observe(time.perf_counter() - start)
        if status != 200 and "expect" in request.headers:
            headers = {**headers, "connection": "close"}  # its body may not come
        return Response(content, status, headers, "application/json")

    async def _predicted(self, columns, by_row):
        outputs = await self._gathering(columns)
        for layer in outputs[EXIT_LAYER] if self._layers else ():
            self._layers.observe(layer)
        self._rows.inc(len(next(iter(columns.values()))))
        size = sum(values.size for values in outputs.values())
        return await self._apart(size, _rendered, outputs, by_row)

    async def _body(self, request):
        """Reads the columns of a request, but no more bytes than allowed.

        Returns:
            A list for each input by name, and whether they were given row by row.
        """
        most, headers = self._limits.max_request_bytes, request.headers
        coding = headers.get("content-encoding", "identity").strip().lower()
        if coding not in ("identity", "gzip"):
            message = f"Content-Encoding is {coding}: send gzip, or leave it out."
            raise HTTPException(415, message, {"accept-encoding": "gzip"})
        content = bytearray()
        if int(headers.get("content-length", 0)) > most:
            raise _too_large(most)
        async for part in request.stream():
            content += part
            if len(content) > most:
                raise _too_large(most)
        size = len(content) if coding == "identity" else most
        return await self._apart(size, self._parsed, content, coding)

    async def _apart(self, size, function, *arguments):
        """Calls a function, in a thread if that takes long."""
        if size <= _SHORT:
            return function(*arguments)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._aside, function, *arguments)

    def _parsed(self, content, coding):
        if coding == "gzip":
            content = _unpacked(content, self._limits.max_request_bytes)
        try:
            body = parse_json(content, _decoded)
        except UserError:
            raise
        except ValueError as error:
            raise UserError(f"The request is no JSON: {error}.") from error
        if not isinstance(body, dict):
            raise UserError("The request is no JSON object.")
        given, by_row = _inputs(body, self._predictor.inputs)
        limits = self._limits
        for name, column in given.items():
            count = sum(map(_texts, column)) if isinstance(column, list) else 1
            _check_number("The request has", count, name, limits, "max_waiting_rows")
        columns, _ = self._predictor.columns(**given)
        for name, column in columns.items():
            count = max(map(_texts, column), default=0)
            _check_number("A row has", count, name, limits, "max_rows")
        return columns, by_row

    def _check_path(self, request):
        asked = request.path_params
        if request.method != "POST" and request.scope["path"].endswith(":predict"):
            raise HTTPException(405, headers={"allow": "POST"})
        if asked["name"] != self._name:
            raise HTTPException(404, f"There is no model {asked['name']}.")
        if asked.get("version", str(self._version)) != str(self._version):
            message = f"{self._name} has no version {asked['version']}."
            raise HTTPException(404, message)

    async def _refused(self, request, error):
        self._requests.labels(error.status_code).inc()
        message = error.detail
        if not message.endswith("."):  # Starlette's
            message = f"{request.method} {request.scope['path']}: {message}."
        content = _said(message), error.status_code, error.headers
        return Response(*content, "application/json")

    async def _health(self, request):
        return JSONResponse({"status": "ok"})

    async def _models(self, request):
        return JSONResponse({"models": [self._name]})

    async def _status(self, request):
        self._check_path(request)
        status = {
            "version": str(self._version),
            "state": "AVAILABLE",
            "status": {"error_code": "OK", "error_message": ""},
        }
        return JSONResponse({"model_version_status": [status]})

    async def _metadata(self, request):
        self._check_path(request)
        spec = {"name": self._name, "signature_name": "", "version": str(self._version)}
        signatures = {SIGNATURE: _described(self._predictor.signature)}
        definition = {"signature_def": {"signature_def": signatures}}
        return JSONResponse({"model_spec": spec, "metadata": definition})

    async def _metrics(self, request):
        content = prometheus_client.generate_latest(self._registry)
        return Response(content, media_type=prometheus_client.CONTENT_TYPE_LATEST)


def _workers():
    """Counts the calls that a machine answers at a time: one a GPU, or one a core."""
    return 1 if tf.config.list_physical_devices("GPU") else available_cores()


class Connections:
    """The connections of a server: how many there are, and what they hold.

    Where there are too many, or they hold too much, those give way whose request is not
    complete, the oldest first; of bytes, those that hold no less than the average.

    Args:
        limits: the `Limits` of `albert-tf serve`.
        count: called with the status of each request that is refused here.
    """

    def __init__(self, limits, count):
        self.limits, self.count = limits, count
        self.held = 0  # bytes of requests, until they are answered
        self.unread = {}  # since when each `Connection` is waited for, oldest first

    async def watch(self):
        """Ends connections that take too long, until it is cancelled."""
        seconds = self.limits.max_read_seconds
        while True:
            await asyncio.sleep(min(seconds / 4, 1))
            while self.unread:
                connection, since = next(iter(self.unread.items()))
                if time.monotonic() - since < seconds:
                    break
                del self.unread[connection]
                connection.take_too_long()


class Connection(H11Protocol):
    """A connection of uvicorn, which limits neither the time that a request may take to
    come, nor the bytes of all.
    """

    def __init__(self, connections, **settings):
        super().__init__(**settings)
        self.conn = _Chunks(connections.limits.max_request_bytes)
        self._all = connections
        self._received = 0  # bytes that are not answered
        self._unsent = 0  # bytes of answers that the client had left when last asked
        self._is_refused = False

    def connection_made(self, transport):
        super().connection_made(transport)
        self._wait_for_client()
        if len(self.connections) > self._all.limits.max_connections:
            message = "The server has too many connections; ask again later."
            oldest = next(iter(self._all.unread))
            if oldest is self:
                self.refuse(503, message)
            else:
                oldest.give_way(message)

    def connection_lost(self, exc):
        self._all.unread.pop(self, None)
        self._hold(0)
        super().connection_lost(exc)

    def data_received(self, data):
        if self._is_refused or self.transport.is_closing():
            return
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            self._hold(self._received + len(data))
            while self._all.held > self._all.limits.max_held_bytes:
                share = self._all.held / (len(self._all.unread) or 1)
                large = (c for c in self._all.unread if c._received >= share)
                oldest = next(large, self)
                oldest.give_way("The server holds too many requests; ask again later.")
                if oldest is self:
                    return
        super().data_received(data)

    def handle_events(self):
        super().handle_events()
        if self._is_complete() and not self.transport.get_write_buffer_size():
            self._all.unread.pop(self, None)

    def on_response_complete(self):
        self._hold(len(self.conn.trailing_data[0]))
        self._wait_for_client()
        super().on_response_complete()

    def send_400_response(self, msg):
        self.refuse(400, msg)

    def shutdown(self):
        if self._is_complete():
            self.cycle.keep_alive = False
        elif self.transport.get_write_buffer_size():
            self.transport.close()
        else:
            self.give_way("The server ends.")

    def take_too_long(self):
        """Ends the connection, unless the client reads or the server is at work."""
        unsent = self.transport.get_write_buffer_size()
        if 0 < unsent < self._unsent:
            self._wait_for_client()
        elif unsent or not self._is_complete():
            if self._received:
                seconds = self._all.limits.max_read_seconds
                self.refuse(408, f"The request took more than {seconds:g} seconds.")
            self.transport.abort()

    def give_way(self, message):
        """Refuses what has come of a request, and ends the connection."""
        if self._received:
            self.refuse(503, message)
        self._all.unread.pop(self, None)
        self.transport.abort()

    def refuse(self, status, message):
        """Answers a request that is not complete, and reads no more of it."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            if self.conn.our_state is h11.IDLE:
                self._all.count(status)
            else:  # the application counts it
                self.scope["refused"] = status
                self.cycle.disconnected = True
                self.cycle.message_event.set()
            self.transport.write(_response(status, message))
        self._is_refused = True
        self._hold(0)
        if self.transport.can_write_eof():
            self.transport.write_eof()

    def _is_complete(self):
        cycle = self.cycle
        return cycle is not None and not (cycle.more_body or cycle.response_complete)

    def _wait_for_client(self):
        self._unsent = self.transport.get_write_buffer_size()
        self._all.unread.pop(self, None)
        self._all.unread[self] = time.monotonic()

    def _hold(self, received):
        self._all.held += received - self._received
        self._received = received


class _Chunks(h11.Connection):
    """A connection of h11 that refuses tiny chunks, each of which costs time."""

    def __init__(self, most_bytes):
        super().__init__(h11.SERVER)
        self._most, self._count = _FEW_CHUNKS + most_bytes // _CHUNK, 0

    def next_event(self):
        event = super().next_event()
        if type(event) is h11.Request:
            self._count = 0
        self._count += type(event) is h11.Data
        if self._count > self._most:
            raise h11.RemoteProtocolError("too many chunks")
        return event


def _response(status, message):
    """Returns the bytes of a response that ends the connection."""
    content = _said(message)
    headers = {
        "content-type": "application/json",
        "content-length": len(content),
        "connection": "close",
        **(_LATER if status == 503 else {}),
    }
    lines = [f"HTTP/1.1 {status} {http.HTTPStatus(status).phrase}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + content


async def _unless_gone(request, answer):
    """Awaits an answer while the client waits, too.

    Raises:
        ClientDisconnect: it does not; the answer is cancelled.
    """

    async def gone():
        while (await request.receive())["type"] != "http.disconnect":
            pass

    tasks = asyncio.ensure_future(answer), asyncio.ensure_future(gone())
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if not tasks[0].done():
            raise ClientDisconnect
        return tasks[0].result()
    finally:
        for task in tasks:
            task.cancel()


def _said(message):
    """Returns the JSON of an error."""
    content = {"error": str(message)[:_LONGEST_SENTENCE]}
    return json.dumps(content).encode()


def _too_large(most):
    return HTTPException(413, f"The request has more than {most} bytes.")


def _texts(row):
    """Counts the texts of a row; an empty list is one, as it takes as much time."""
    return max(len(row), 1) if isinstance(row, list) else 1


def _check_number(it_has, count, name, limits, limit):
    most = getattr(limits, limit)
    if count > most:
        message = f"{it_has} {count} texts for {name}; the server takes {most} at most"
        raise HTTPException(413, f"{message} (--{limit}).")


def _unpacked(content, most):
    try:
        with gzip.open(io.BytesIO(content)) as file:
            content = file.read(most + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(f"The request is no gzip: {error}.") from error
    if len(content) > most:
        raise _too_large(most)
    return content


def _inputs(body, names):
    """Lists of strings by name, and whether they were given row by row."""
    if body.get("signature_name", SIGNATURE) != SIGNATURE:
        raise UserError(f"signature_name must be {SIGNATURE} or be left out.")
    given = [key for key in ("inputs", "instances") if key in body]
    if len(given) != 1:
        raise UserError('Give "inputs" (by column) or "instances" (by row).')
    values = body[given[0]]
    if given == ["inputs"]:
        return (values if isinstance(values, dict) else {names[0]: values}), False
    if not isinstance(values, list) or not values:
        raise UserError('"instances" must be a list of rows.')
    if not isinstance(values[0], dict):
        return {names[0]: values}, True
    if any(not isinstance(v, dict) or v.keys() != values[0].keys() for v in values):
        raise UserError('The rows of "instances" have different inputs.')
    return {name: [row[name] for row in values] for name in values[0]}, True


def _decoded(values):
    """Returns an object of JSON, or the bytes that `{"b64": …}` stands for."""
    if values.keys() != {"b64"}:
        return values
    try:
        return base64.b64decode(values["b64"].encode(), validate=True)
    except (ValueError, AttributeError) as error:
        raise UserError('The value of "b64" is not in base 64.') from error


def _rendered(outputs, by_row):
    """Returns the JSON of outputs; Python's lock is free after each value of a row."""
    columns = {
        _json(name): [_json(values[i : i + 1].tolist()[0]) for i in range(len(values))]
        for name, values in outputs.items()
    }
    if len(columns) == 1:
        content = _list(*columns.values())
    elif by_row:
        rows = zip(*columns.values(), strict=True)
        content = _list(_object(zip(columns, row, strict=True)) for row in rows)
    else:
        content = _object((name, _list(rows)) for name, rows in columns.items())
    return _object([('"predictions"' if by_row else '"outputs"', content)]).encode()


def _json(value):
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _list(values):
    return f"[{','.join(values)}]"


def _object(pairs):
    return "{" + ",".join(f"{name}:{value}" for name, value in pairs) + "}"


def _described(signature):
    """Describes a signature as TensorFlow Serving's metadata do."""
    _, inputs = signature.structured_input_signature
    sides = {"inputs": inputs, "outputs": signature.structured_outputs}
    described = {
        side: {name: _tensor(name, spec) for name, spec in sorted(specs.items())}
        for side, specs in sides.items()
    }
    return {**described, "method_name": "tensorflow/serving/predict"}


def _tensor(name, spec):
    sizes = [-1 if size is None else size for size in spec.shape]
    return {
        "name": name,
        "dtype": f"DT_{spec.dtype.name.upper()}".replace("FLOAT32", "FLOAT"),
        "tensor_shape": {
            "dim": [{"size": str(size), "name": ""} for size in sizes],
            "unknown_rank": False,
        },
    }
