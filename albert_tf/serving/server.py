"""An HTTP server for a `Predictor`, with the REST API of TensorFlow Serving.

https://www.tensorflow.org/tfx/serving/api_rest describes requests and responses; of
models of vectors and of ranks, `vector_requests` and `rank_requests` describe others.
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
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse
from starlette.responses import Response
from starlette.routing import Route
from uvicorn.protocols.http.h11_impl import H11Protocol

from albert_tf.errors import UserError
from albert_tf.io.files import parse_json
from albert_tf.serving import rank_requests
from albert_tf.serving import vector_requests
from albert_tf.serving.dynamic_batching import Busy
from albert_tf.serving.dynamic_batching import DynamicBatcher
from albert_tf.serving.inputs import lengths_of
from albert_tf.serving.rank_requests import RankRequest
from albert_tf.serving.vector_requests import VectorRequest
from albert_tf.tasks.served_answers import EXIT_LAYER
from albert_tf.tokenization.parallel import available_cores

SIGNATURE = "serving_default"
_PROMPTS = ("prompt_name", "prompt")  # fields of a request beside those of TensorFlow's
_MOST_LAYERS = 24  # of the released models
_BUCKETS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)  # seconds
_DRAINING = 30  # seconds to finish requests after SIGTERM
_LATER = {"retry-after": "1"}
_GONE = 499  # nginx's status for a client that hung up
_SHORT = 16_384  # bytes of a request, or values of an answer, converted in no time
_LONGEST_SENTENCE = 1000  # characters; an error may quote a name from the request
_FEW_CHUNKS, _CHUNK = 1024, 256  # chunks allowed in any body, and bytes per extra chunk


class Server:
    """The web application of the HTTP server, and its metrics.

    Args:
        predictor: a `Predictor`.
        name: the model's name in URLs.
        version: the model's version in URLs, an int.
        limits: the `ServeOptions`.
    """

    def __init__(self, predictor, name, version, limits):
        self._predictor, self._limits = predictor, limits
        self._name, self._version = name, version
        self._batcher = None
        # One thread: more would compete with the event loop for the GIL.
        self._thread = concurrent.futures.ThreadPoolExecutor(1)
        registry = prometheus_client.CollectorRegistry()
        self._registry = registry
        self._requests = prometheus_client.Counter(
            "albert_requests",
            "Requests to predict, and others that were refused.",
            ["status"],
            registry=registry,
        )
        self._rows = prometheus_client.Counter(
            "albert_rows", "Rows that were answered.", registry=registry
        )
        self._seconds = prometheus_client.Histogram(
            "albert_request_seconds",
            "Time from a request to its answer.",
            buckets=_BUCKETS,
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
        waiting.set_function(lambda: self._batcher.rows())
        self._calls = prometheus_client.Gauge(
            "albert_model_calls", "Calls of the model.", registry=registry
        )
        self._connections = Connections(
            limits, lambda status: self._requests.labels(status).inc()
        )

    def config(self, backlog):
        """Makes the settings of uvicorn."""
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
            Route("/health", self._health),
            Route("/healthz", self._health),
            Route("/v1/models", self._models),
            Route(vector_requests.PATH, self._embed, methods=["POST"]),
            *(
                Route(path, self._rank, methods=["POST"])
                for path in rank_requests.PATHS
            ),
        ]
        for path in (model, f"{model}/versions/{{version}}"):
            routes += [
                Route(f"{path}:predict", self._predict, methods=["POST"]),
                Route(f"{path}/metadata", self._metadata),
                Route(path, self._status),
            ]
        errors = HTTPException, UserError, Busy, ClientDisconnect, Exception
        return Starlette(
            routes=routes,
            lifespan=self._running,
            exception_handlers=dict.fromkeys(errors, self._refused),
        )

    @contextlib.asynccontextmanager
    async def _running(self, application):
        # One concurrent call per GPU or core.
        has_gpu = tf.config.list_physical_devices("GPU")
        workers = self._limits.workers or (1 if has_gpu else available_cores())
        self._batcher = DynamicBatcher(self._outputs, workers, self._limits)
        running = (self._batcher.run(), self._connections.watch())
        tasks = [*map(asyncio.create_task, running)]
        yield
        for task in tasks:
            task.cancel()

    def _outputs(self, columns):
        self._calls.inc()
        return self._predictor.outputs(columns, batch_size=self._limits.max_rows)

    async def _predict(self, request):
        return await self._answered(request, self._values)

    async def _embed(self, request):
        return await self._answered(request, self._vectors)

    async def _rank(self, request):
        return await self._answered(request, self._ranks)

    async def _answered(self, request, answer):
        """Answers a request with a coroutine that maps it to the content."""
        start = time.perf_counter()
        try:
            content = await answer(request)
        except asyncio.CancelledError as error:  # The request outlasts the shutdown.
            raise HTTPException(503, "The server ends.", _LATER) from error
        finally:
            self._seconds.observe(time.perf_counter() - start)
        self._requests.labels(200).inc()
        return Response(content, media_type="application/json")

    async def _refused(self, request, error):
        """Responds to a request that raised an error; uvicorn logs server errors."""
        status, headers, message = 500, {}, "The server failed; its log says why."
        if isinstance(error, HTTPException):
            status, message = error.status_code, error.detail
            headers = dict(error.headers or {})
            if not message.endswith("."):  # Starlette's
                message = f"{request.method} {request.scope['path']}: {message}."
        elif isinstance(error, UserError):
            status, message = 400, str(error)
        elif isinstance(error, Busy):
            status, message, headers = 503, str(error), dict(_LATER)
        elif isinstance(error, ClientDisconnect):
            status = request.scope.get("refused", _GONE)
        self._requests.labels(status).inc()
        # uvicorn closes the connection after its own errors; the body may never arrive.
        if status == 500 or "expect" in request.headers:
            headers["connection"] = "close"
        content = _error(message)
        if request.scope["path"] == vector_requests.PATH:
            shown = message[:_LONGEST_SENTENCE]
            content = json.dumps(vector_requests.error(status, shown)).encode()
        elif request.scope["path"] in rank_requests.PATHS:
            shown = message[:_LONGEST_SENTENCE]
            content = json.dumps(rank_requests.error(shown)).encode()
        return Response(content, status, headers, "application/json")

    async def _values(self, request):
        self._check_path(request)
        columns, by_row = await self._body(request, self._columns)
        outputs = await _unless_gone(request, self._found(columns))
        return await self._aside(_size(outputs), _rendered, outputs, by_row)

    async def _vectors(self, request):
        if vector_requests.VECTORS not in self._predictor.signature.structured_outputs:
            message = (
                f"{self._name} has no vectors: ask /v1/models/{self._name}:predict."
            )
            raise HTTPException(404, message)
        columns, asked = await self._body(request, self._columns_of_vectors)
        outputs = await _unless_gone(request, self._found(columns))
        # Tokens are counted, too.
        size = max(_size(outputs), lengths_of(columns).sum())
        return await self._aside(size, self._rendered_vectors, outputs, columns, asked)

    async def _ranks(self, request):
        outputs = self._predictor.signature.structured_outputs
        inputs = self._predictor.inputs
        labels = self._predictor.labels
        if len(inputs) != 2 or not rank_requests.has_scores(outputs, labels):
            message = (
                f"{self._name} gives pairs of texts no scores: ask "
                f"/v1/models/{self._name}:predict."
            )
            raise HTTPException(404, message)
        columns, asked = await self._body(request, self._columns_of_ranks)
        outputs = await _unless_gone(request, self._found(columns))
        return asked.answer(rank_requests.scores_in(outputs), self._name)

    def _rendered_vectors(self, outputs, columns, asked):
        return asked.answer(
            outputs[vector_requests.VECTORS],
            self._predictor.normalizes,
            self._name,
            self._predictor.count_tokens(columns),
        )

    async def _found(self, columns):
        outputs = await self._batcher(columns)
        for layer in outputs[EXIT_LAYER] if self._layers else ():
            self._layers.observe(layer)
        self._rows.inc(len(next(iter(columns.values()))))
        return outputs

    async def _body(self, request, read):
        """Reads a request's JSON object and returns what `read` makes of it."""
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
        return await self._aside(size, self._parsed, content, coding, read)

    async def _aside(self, size, function, *arguments):
        """Calls a function, in a thread if it may take long."""
        if size <= _SHORT:
            return function(*arguments)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, function, *arguments)

    def _parsed(self, content, coding, read):
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
        return read(body)

    def _columns(self, body):
        """Returns lists by input name, and whether a request has the row format."""
        given, by_row = _inputs(body, self._predictor.inputs)
        return self._checked(given, body), by_row

    def _columns_of_vectors(self, body):
        """Returns lists by input name, and the `VectorRequest`."""
        self._check_model(body)
        asked = VectorRequest.read(body)
        return self._checked({self._predictor.inputs[0]: asked.texts}, body), asked

    def _columns_of_ranks(self, body):
        """Returns lists by input name, and the `RankRequest`."""
        self._check_model(body)
        asked = RankRequest.read(body)
        # The query is read with each document.
        most = self._limits.max_request_bytes
        if len(asked.query) * len(asked.texts) > most:
            message = (
                f"The query has {len(asked.query)} characters for each of "
                f"{len(asked.texts)} documents; the server takes {most} in all: send a "
                "shorter query, or fewer documents."
            )
            raise HTTPException(413, message)
        return self._checked(asked.columns(*self._predictor.inputs), {}), asked

    def _check_model(self, body):
        if (model := body.get("model", self._name)) != self._name:
            raise HTTPException(404, f"There is no model {model}.")

    def _checked(self, given, body):
        """Returns the columns of given strings, within the limits."""
        limits = self._limits
        for name, column in given.items():
            count = sum(map(_texts, column)) if isinstance(column, list) else 1
            _check_number("The request has", count, name, limits, "max_waiting_rows")
        asked = {name: body[name] for name in _PROMPTS if name in body}
        columns, _ = self._predictor.columns(**given, **asked)
        for name, column in columns.items():
            count = max(map(_texts, column), default=0)
            _check_number("A row has", count, name, limits, "max_rows")
        return columns

    def _check_path(self, request):
        asked = request.path_params
        if request.method != "POST" and request.scope["path"].endswith(":predict"):
            raise HTTPException(405, headers={"allow": "POST"})
        if asked["name"] != self._name:
            raise HTTPException(404, f"There is no model {asked['name']}.")
        if asked.get("version", str(self._version)) != str(self._version):
            message = f"{self._name} has no version {asked['version']}."
            raise HTTPException(404, message)

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


class Connections:
    """The open connections of a server, and the request bytes that they buffer.

    Over the connection limit, closes the oldest connection with an incomplete request.
    Over the byte limit, closes the oldest connection that buffers at least the average.

    Args:
        limits: the `ServeOptions`.
        count: function called with the status of each request that a connection
            refuses.
    """

    def __init__(self, limits, count):
        self.limits, self.count = limits, count
        self.held = 0  # bytes of unanswered requests
        self.unread = {}  # waiting since, by `Connection`, oldest first

    async def watch(self):
        """Closes connections that take too long; runs until cancelled."""
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
    """A uvicorn connection with limits on time and bytes, which uvicorn lacks."""

    def __init__(self, connections, **settings):
        super().__init__(**settings)
        self.conn = _Chunks(connections.limits.max_request_bytes)
        self._all = connections
        self._received = 0  # bytes of unanswered requests
        self._unsent = 0  # bytes of answers that the client had not read at last check
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
        """Closes the connection unless its client reads or an answer is pending."""
        unsent = self.transport.get_write_buffer_size()
        if 0 < unsent < self._unsent:
            self._wait_for_client()
        elif unsent or not self._is_complete():
            if self._received:
                seconds = self._all.limits.max_read_seconds
                self.refuse(408, f"The request took more than {seconds:g} seconds.")
            self.transport.abort()

    def give_way(self, message):
        """Refuses a partially received request; closes the connection."""
        if self._received:
            self.refuse(503, message)
        self._all.unread.pop(self, None)
        self.transport.abort()

    def refuse(self, status, message):
        """Responds to an incomplete request, and reads no more of it."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            if self.conn.our_state is h11.IDLE:
                self._all.count(status)
            else:  # the application counts this request
                self.scope["refused"] = status
                self.cycle.disconnected = True
                self.cycle.message_event.set()
            self.transport.write(_response(status, message))
        self._is_refused = True
        self._hold(0)
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
    """An h11 connection that refuses bodies in tiny chunks, which are slow to parse."""

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
    """Returns the bytes of a response that closes the connection."""
    content = _error(message)
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
    """Awaits an answer; if the client disconnects, cancels it and raises."""

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


def _error(message):
    """Returns the JSON of an error."""
    return json.dumps({"error": message[:_LONGEST_SENTENCE]}).encode()


def _too_large(most):
    return HTTPException(413, f"The request has more than {most} bytes.")


def _texts(row):
    """Counts the texts in a row; an empty list costs as much as one text."""
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
    """Returns the strings of a request by input, and whether it has the row format."""
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
    """Decodes an object `{"b64": …}` to bytes; returns other objects unchanged."""
    if values.keys() != {"b64"}:
        return values
    try:
        return base64.b64decode(values["b64"].encode(), validate=True)
    except (ValueError, AttributeError) as error:
        raise UserError('The value of "b64" is not in base 64.') from error


def _size(outputs):
    """Counts the values of all outputs."""
    return sum(values.size for values in outputs.values())


def _rendered(outputs, by_row):
    """Returns the JSON of outputs; releases the GIL after each value of a row."""
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
    """Describes a signature in the format of TensorFlow Serving's metadata."""
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
