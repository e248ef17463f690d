"""A `Predictor` behind TensorFlow Serving's REST interface, as a Starlette application.

https://www.tensorflow.org/tfx/serving/api_rest describes requests and responses.
"""

import asyncio
import base64
import contextlib
import functools
import time

import prometheus_client
import tensorflow as tf
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.responses import Response
from starlette.routing import Route

from albert_tf.errors import UserError
from albert_tf.io.files import parse_json
from albert_tf.serving.gathering import Busy
from albert_tf.serving.gathering import Gathering
from albert_tf.tasks.serving import EXIT_LAYER
from albert_tf.tokenization.parallel import available_cores

SIGNATURE = "serving_default"
_MOST_LAYERS = 24  # of the released models
_SPENT = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)  # seconds


class _Refused(Exception):
    """A request that gets another status than 400."""

    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


class Server:
    """The answers to HTTP requests.

    Args:
        predictor: a `Predictor`.
        name: of the model in paths.
        version: of the model, an int.
        limits: the `Limits` of `albert_tf.serve`.
    """

    def __init__(self, predictor, name, version, limits):
        self._predictor, self._limits = predictor, limits
        self._name, self._version = name, version
        self._gathering = None
        registry = self._registry = prometheus_client.CollectorRegistry()
        self._requests = prometheus_client.Counter(
            "albert_requests", "Requests to predict.", ["status"], registry=registry
        )
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

    def application(self):
        """Makes the Starlette application."""
        model = "/v1/models/{name}"
        versioned = f"{model}/versions/{{version:int}}"
        routes = [Route("/metrics", self._metrics)]
        for path in (model, versioned):
            routes += [
                Route(f"{path}:predict", self._predict, methods=["POST"]),
                Route(f"{path}/metadata", self._metadata),
                Route(path, self._status),
            ]
        return Starlette(routes=routes, lifespan=self._running)

    @contextlib.asynccontextmanager
    async def _running(self, application):
        limits = self._limits
        self._gathering = Gathering(
            functools.partial(self._predictor.outputs, batch_size=limits.max_rows),
            limits.workers or _workers(),
            limits,
        )
        task = asyncio.create_task(self._gathering.run())
        yield
        task.cancel()

    async def _predict(self, request):
        start, status = time.perf_counter(), 500
        try:
            self._check_path(request)
            content = await self._predicted(await self._body(request))
            status = 200
        except (UserError, Busy, _Refused) as error:
            status = {UserError: 400, Busy: 503}.get(type(error)) or error.status
            content = {"error": str(error)}
        finally:
            self._requests.labels(status).inc()
            self._seconds.observe(time.perf_counter() - start)
        return JSONResponse(content, status)

    async def _predicted(self, body):
        given, by_row = _inputs(body, self._predictor.inputs)
        columns, _ = self._predictor.columns(**given)
        outputs = await self._gathering(columns)
        for layer in outputs[EXIT_LAYER] if self._layers else ():
            self._layers.observe(layer)
        rows = {name: values.tolist() for name, values in outputs.items()}
        self._rows.inc(len(next(iter(columns.values()))))
        single = next(iter(rows.values())) if len(rows) == 1 else None
        if not by_row:
            return {"outputs": rows if single is None else single}
        if single is None:
            each = zip(*rows.values(), strict=True)
            single = [dict(zip(rows, row, strict=True)) for row in each]
        return {"predictions": single}

    async def _body(self, request):
        """Reads the JSON object of a request, but no more bytes than allowed."""
        content, most = b"", self._limits.max_request_bytes
        async for part in request.stream():
            content += part
            if len(content) > most:
                raise _Refused(413, f"The request has more than {most} bytes.")
        try:
            body = parse_json(content)
        except ValueError as error:
            raise UserError(f"The request is no JSON: {error}.") from error
        if not isinstance(body, dict):
            raise UserError("The request is no JSON object.")
        return body

    def _check_path(self, request):
        asked = request.path_params
        if asked["name"] != self._name:
            raise _Refused(404, f"There is no model {asked['name']}.")
        if asked.get("version", self._version) != self._version:
            raise _Refused(404, f"{self._name} has no version {asked['version']}.")

    async def _status(self, request):
        status = {
            "version": str(self._version),
            "state": "AVAILABLE",
            "status": {"error_code": "OK", "error_message": ""},
        }
        return self._told(request, {"model_version_status": [status]})

    async def _metadata(self, request):
        spec = {"name": self._name, "signature_name": "", "version": str(self._version)}
        signatures = {SIGNATURE: _described(self._predictor.signature)}
        definition = {"signature_def": {"signature_def": signatures}}
        return self._told(request, {"model_spec": spec, "metadata": definition})

    def _told(self, request, content):
        try:
            self._check_path(request)
        except _Refused as error:
            return JSONResponse({"error": str(error)}, error.status)
        return JSONResponse(content)

    async def _metrics(self, request):
        content = prometheus_client.generate_latest(self._registry)
        return Response(content, media_type=prometheus_client.CONTENT_TYPE_LATEST)


def _workers():
    """Counts the calls that a machine answers at a time: one a GPU, or one a core."""
    return 1 if tf.config.list_physical_devices("GPU") else available_cores()


def _inputs(body, names):
    """Lists of strings by name, and whether they were given row by row."""
    if body.get("signature_name", SIGNATURE) != SIGNATURE:
        raise UserError(f"signature_name must be {SIGNATURE} or be left out.")
    given = [key for key in ("inputs", "instances") if key in body]
    if len(given) != 1:
        raise UserError('Give "inputs" (by column) or "instances" (by row).')
    values = _decoded(body[given[0]])
    if given == ["inputs"]:
        return (values if isinstance(values, dict) else {names[0]: values}), False
    if not isinstance(values, list) or not values:
        raise UserError('"instances" must be a list of rows.')
    if not isinstance(values[0], dict):
        return {names[0]: values}, True
    if any(not isinstance(v, dict) or v.keys() != values[0].keys() for v in values):
        raise UserError('The rows of "instances" have different inputs.')
    return {name: [row[name] for row in values] for name in values[0]}, True


def _decoded(value):
    """Returns JSON values, with bytes in the place of `{"b64": …}`."""
    if isinstance(value, list):
        return [_decoded(item) for item in value]
    if not isinstance(value, dict):
        return value
    if value.keys() != {"b64"}:
        return {name: _decoded(item) for name, item in value.items()}
    try:
        return base64.b64decode(value["b64"], validate=True)
    except (ValueError, TypeError) as error:
        raise UserError('The value of "b64" is not in base 64.') from error


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
