"""Requests over HTTP, as TensorFlow Serving, OpenAI and Cohere have them; batches."""

import asyncio
import base64
import concurrent.futures
import contextlib
import functools
import gzip
import json
import re
import threading
import time

import numpy as np
import pytest
import tensorflow as tf
from starlette.exceptions import HTTPException

from albert_tf.commands import serve
from albert_tf.errors import UserError
from albert_tf.reranker import Reranker
from albert_tf.serving import server
from albert_tf.serving.dynamic_batching import DynamicBatcher
from albert_tf.serving.predictor import Predictor
from albert_tf.serving.server import Server
from albert_tf.tasks.registry import create_task
from albert_tf.tasks.served_answers import EXIT_LAYER
from tests.serving import served
from tests.serving.answers import exported
from tests.serving.served import Lengths
from tests.serving.served import serving

_WIDTH = 4


def ask(*arguments, **named):
    """The status of an answer, and its content."""
    return served.ask(*arguments, **named)[:2]


def embed(port, body):
    return ask(port, "/v1/embeddings", body, base="")


def rank(port, body, path="/rerank"):
    return ask(port, path, body, base="")


def vector_of(text):
    """A vector that no other text has, of length 1."""
    numbers = np.frombuffer(text.ljust(_WIDTH).encode()[:_WIDTH], np.uint8)
    return (numbers / np.linalg.norm(numbers.astype("float32"))).astype("float32")


class Leaving(Lengths):
    """Answers each text after as many layers as it has letters."""

    answers = ((EXIT_LAYER, [None], tf.int32),)

    def outputs(self, columns, batch_size):
        found = super().outputs(columns, batch_size)
        return {"first": found["first"], EXIT_LAYER: found["length"]}


class Vectors(Lengths):
    """Stands for a `Predictor` of a model of vectors."""

    normalizes = True
    answers = (("embedding", [None, _WIDTH], tf.float32),)

    def outputs(self, columns, batch_size):
        super().outputs(columns, batch_size)
        texts = [text.decode() for text in columns["text"]]
        return {"embedding": np.array([*map(vector_of, texts)])}

    def count_tokens(self, columns):
        return sum(len(text.split()) + 2 for text in columns["text"])


class Scores(Lengths):
    """Stands for a `Predictor` of a reranker: the letters that both texts have."""

    inputs = ("text", "text_pair")
    answers = (("score", [None], tf.float32),)

    def outputs(self, columns, batch_size):
        pairs = zip(columns["text"], columns["text_pair"], strict=True)
        return {"score": np.float32([len({*a} & {*b}) / 8 for a, b in pairs])}


_LIMITS = {"max_request_bytes": 500, "max_waiting_rows": 8}
_MODELS = {"texts": Lengths, "vectors": Vectors, "ranks": Scores}


@pytest.fixture(scope="module")
def ports():
    """The port of a server of each model."""
    with contextlib.ExitStack() as stack:
        yield {
            name: stack.enter_context(serving(model(), **_LIMITS))
            for name, model in _MODELS.items()
        }


_B64 = {"b64": base64.b64encode("ü".encode()).decode()}
_DEFAULT = {"signature_name": "serving_default"}
_ROWS = [{"length": 3, "first": "a"}, {"length": 1, "first": "d"}]


@pytest.mark.parametrize(
    ("body", "answer"),
    [
        (
            {"inputs": {"text": ["abc", ""]}},
            {"outputs": {"length": [3, 0], "first": ["a", ""]}},
        ),
        ({"inputs": ["ab"]}, {"outputs": {"length": [2], "first": ["a"]}}),
        (
            {**_DEFAULT, "instances": [{"text": "abc"}, {"text": "d"}]},
            {"predictions": _ROWS},
        ),
        ({"instances": ["xy"]}, {"predictions": [{"length": 2, "first": "x"}]}),
        ({"instances": [_B64]}, {"predictions": [{"length": 1, "first": "ü"}]}),
    ],
)
def test_both_forms_of_a_request(ports, body, answer):
    for path in (":predict", "/versions/3:predict"):
        assert ask(ports["texts"], path, body) == (200, answer)


_LONG = "The query has 101 characters for each of 5 documents; the server takes"
# By model: what is asked, the status of the answer, and what it says.
_REFUSED = {
    "texts": [
        ("{", 400, "The request is no JSON: "),
        ('{"instances": [{"text": "a", "text": "b"}]}', 400, "it sets 'text' twice in"),
        ([], 400, "The request is no JSON object."),
        ({}, 400, 'Give "inputs" (by column) or "instances" (by row).'),
        ({"instances": []}, 400, '"instances" must be a list of rows.'),
        ({"instances": [{"text": "a"}, {}]}, 400, "have different inputs."),
        ({"instances": [{"text": "a"}, "b"]}, 400, "have different inputs."),
        ({"instances": [{"b64": "?"}]}, 400, 'The value of "b64" is not in base 64.'),
        ({"inputs": {"title": ["a"]}}, 400, "The model takes text, but got title."),
        ({"inputs": {"text": [1]}}, 400, "text[0] must be a str, got int."),
        ({"inputs": ["bad"]}, 400, "bad is refused."),
        ({"signature_name": "x", "inputs": ["a"]}, 400, "must be serving_default"),
        (" " * 500, 400, "The request is no JSON: "),
        (" " * 501, 413, "The request has more than 500 bytes."),
        ({"inputs": ["a"] * 9}, 413, "9 texts for text; the server takes 8 at most"),
    ],
    "vectors": [
        ({}, 400, '"input" must be a text or a list of texts.'),
        ({"input": [1, 2]}, 400, '"input" holds token ids: send texts'),
        ({"input": [[1, 2]]}, 400, '"input" holds token ids: send texts'),
        ({"input": ["a", None]}, 400, "text[1] must be a str, got NoneType."),
        ({"input": "a", "dimensions": 5}, 400, "must be 1 to 4, the model's."),
        ({"input": "a", "dimensions": 0}, 400, '"dimensions" must be a positive int'),
        ({"input": "a", "dimensions": True}, 400, "must be a positive integer."),
        ({"input": "a", "encoding_format": "hex"}, 400, "must be float or base64."),
        ({"input": "bad"}, 400, "bad is refused."),
        ({"input": "a", "model": "x"}, 404, "There is no model x."),
        ({"input": ["a"] * 9}, 413, "9 texts for text; the server takes 8 at most"),
        ({"input": "broken"}, 500, "The server failed; its log says why."),
    ],
    "ranks": [
        ({"documents": ["a"]}, 400, '"query" must be a text.'),
        ({"query": "q", "documents": [{"title": "a"}]}, 400, 'objects with a "text".'),
        ({"query": "q", "documents": []}, 400, '"documents" must be a list of texts.'),
        ({"query": "q", "documents": "a"}, 400, '"documents" must be a list of texts.'),
        ({"query": "q", "documents": ["a"], "top_n": 0}, 400, "a positive integer."),
        ({"query": "q", "documents": ["a"], "top_n": 1.5}, 400, "a positive integer."),
        ({"query": "q", "documents": ["a"], "model": "x"}, 404, "is no model x."),
        ({"query": "q", "documents": ["a"] * 9}, 413, "the server takes 8 at most"),
        ({"query": "q" * 101, "documents": ["a"] * 5}, 413, _LONG),
        ({"query": "q", "documents": ["a", 1]}, 400, '"documents" must be texts, or'),
        ({"query": "q", "documents": ["a"], "top_n": True}, 400, "a positive integer."),
    ],
}
_PATHS = {"vectors": "/v1/embeddings", "ranks": "/rerank"}


@pytest.mark.parametrize(
    ("kind", "body", "status", "message"),
    [(kind, *row) for kind, rows in _REFUSED.items() for row in rows],
)
def test_a_bad_request_gets_a_sentence(ports, kind, body, status, message):
    """In the form of TensorFlow Serving, of OpenAI or of Cohere."""
    raw = body if isinstance(body, str) else json.dumps(body)
    path = _PATHS.get(kind, "/v1/models/m:predict")
    found, content = ask(ports[kind], path, raw=raw, base="")
    told = content.pop("message" if kind == "ranks" else "error")
    if kind == "vectors":
        error, told = told, told.pop("message")
        kind = "server_error" if status == 500 else "invalid_request_error"
        assert error == {"type": kind, "param": None, "code": None}
    assert (found, content) == (status, {})
    assert message in told


def test_status_and_metadata(ports):
    port = ports["texts"]
    status, content = ask(port, "")
    assert status == 200
    told = {"error_code": "OK", "error_message": ""}
    available = {"version": "3", "state": "AVAILABLE", "status": told}
    assert content == {"model_version_status": [available]}
    for kind, inputs, outputs in (
        ("texts", "text", {"length": "DT_INT32", "first": "DT_STRING"}),
        ("ranks", ("text", "text_pair"), {"score": "DT_FLOAT"}),
        ("vectors", "text", {"embedding": "DT_FLOAT"}),
    ):
        _, content = ask(ports[kind], "/metadata")
        spec = {"name": "m", "signature_name": "", "version": "3"}
        assert content["model_spec"] == spec
        signatures = content["metadata"]["signature_def"]["signature_def"]
        described = signatures["serving_default"]
        assert described.pop("method_name") == "tensorflow/serving/predict"
        names = [inputs] if isinstance(inputs, str) else inputs
        types = {"inputs": dict.fromkeys(names, "DT_STRING"), "outputs": outputs}
        sizes = ["-1", "4"] if kind == "vectors" else ["-1"]
        for side, own in types.items():
            shown = sizes if side == "outputs" else ["-1"]
            shape = {"dim": [{"size": n, "name": ""} for n in shown]}
            shape["unknown_rank"] = False
            assert described[side] == {
                name: {"name": name, "dtype": dtype, "tensor_shape": shape}
                for name, dtype in own.items()
            }
    missing = (404, {"error": "m has no version 4."})
    assert ask(port, "/versions/4:predict", {}) == missing
    for path, body in (("x:predict", {}), ("/versions/4", None), ("x/metadata", None)):
        assert ask(port, path, body)[0] == 404
    assert ask(port, "/health", base="") == (200, {"status": "ok"})
    status, content = embed(port, {"input": "a"})
    assert status == 404
    assert content["error"]["message"] == "m has no vectors: ask /v1/models/m:predict."
    message = "m gives pairs of texts no scores: ask /v1/models/m:predict."
    for kind in ("texts", "vectors"):
        assert rank(ports[kind], {}) == (404, {"message": message})


def test_a_body_in_chunks_or_packed_has_the_same_limit(ports):
    packed = {"content-encoding": "gzip"}
    for size, status in ((500, 400), (501, 413)):
        body = b" " * size
        assert ask(ports["texts"], raw=iter([body[:250], body[250:]]))[0] == status
        content = gzip.compress(body)
        assert ask(ports["texts"], raw=content, headers=packed)[0] == status


def test_a_request_that_outlasts_the_server_is_told(ports):
    async def ended(request):
        raise asyncio.CancelledError

    ending = Server(Lengths(), "m", 3, serve.ServeOptions())
    with pytest.raises(HTTPException, match="The server ends") as error:
        asyncio.run(ending._answered(None, ended))
    assert (error.value.status_code, error.value.headers) == (503, {"retry-after": "1"})


def test_vectors_by_number_and_in_base_64(ports):
    texts = ["a film", "it was good"]
    body = {"model": "m", "input": texts, "user": "u", "encoding_format": None}
    status, content = embed(ports["vectors"], body)
    rows = content.pop("data")
    usage = {"prompt_tokens": 9, "total_tokens": 9}
    assert (status, content) == (200, {"object": "list", "model": "m", "usage": usage})
    found = [(row["object"], row["index"]) for row in rows]
    assert found == [("embedding", 0), ("embedding", 1)]
    expected = np.array([*map(vector_of, texts)])
    found = np.array([row["embedding"] for row in rows], "float32")
    np.testing.assert_array_equal(found, expected)
    _, content = embed(ports["vectors"], {**body, "encoding_format": "base64"})
    sent = b"".join(base64.b64decode(row["embedding"]) for row in content["data"])
    np.testing.assert_array_equal(np.frombuffer(sent, "<f4"), expected.ravel())
    _, content = embed(ports["vectors"], {**body, "dimensions": 4})
    found = np.array([row["embedding"] for row in content["data"]], "float32")
    np.testing.assert_allclose(found, expected, 1e-6)
    # Shorter ones have length 1, too.
    _, content = embed(ports["vectors"], {"input": "abcd", "dimensions": 2})
    (found,) = (row["embedding"] for row in content["data"])
    expected = vector_of("abcd")[:2]
    np.testing.assert_allclose(found, expected / np.linalg.norm(expected), 1e-6)


@pytest.mark.parametrize("path", ["/rerank", "/v1/rerank", "/v2/rerank"])
def test_documents_are_ranked(ports, path):
    documents = ["x", {"text": "cb"}, "abc", "b"]
    body = {"model": "m", "query": "abc", "documents": documents}
    status, content = rank(ports["ranks"], body, path)
    assert status == 200
    results = [(row["index"], row["relevance_score"]) for row in content["results"]]
    assert results == [(2, 0.375), (1, 0.25), (3, 0.125), (0, 0.0)]
    body |= {"top_n": 2, "return_documents": True}
    _, content = rank(ports["ranks"], body, path)
    texts = [row["document"]["text"] for row in content["results"]]
    assert texts == ["abc", "cb"]
    longest = {"query": "q" * 100, "documents": ["a"] * 5, "top_n": 1}
    status, content = rank(ports["ranks"], {**longest, "return_documents": 1}, path)
    result = {"index": 0, "relevance_score": 0.0}
    assert (status, content) == (200, {"model": "m", "results": [result]})


@pytest.mark.slow
def test_a_model_ranks_as_in_python(opened, tmp_path):
    """A classifier of pairs with one label that may apply, as cross-encoders are."""
    made = opened("multi_label")
    labels = {"num_labels": 1, "labels": ["relevant"], "label_kind": "multi_label"}
    model = type(made.model)(made.model.config, **labels)
    task = create_task("multi_label", "custom", labels=("relevant",), pair=True)
    source = tmp_path / "model"
    model.save_pretrained(source, made.tokenizer, {"task": task.to_dict()})
    texts = ["a film", "the plot is bad", "not good"]
    expected = Reranker(source).rank("which film", texts)
    version = exported(source, tmp_path / "export", format="onnx")
    with serving(Predictor(version)) as port:
        _, content = rank(port, {"query": "which film", "documents": texts})
    for row, own in zip(content["results"], expected, strict=True):
        assert row["index"] == own["index"]
        assert row["relevance_score"] == pytest.approx(own["score"], abs=1e-6)


@pytest.mark.slow
def test_tokens_are_counted_where_they_are_known(saved_model, export_of):
    """Of a folder and of a file that is named itself, as the model reads them."""
    version = export_of("similarity", format="onnx")
    for source in (saved_model("similarity"), version / "model.onnx"):
        predictor = Predictor(source)
        columns, _ = predictor.columns(["it is a good film", ""])
        assert predictor.count_tokens(columns) == 7 + 2
        longer, _ = predictor.columns(["a film"] * 3)
        assert predictor.count_tokens(longer) == 12
        assert predictor.normalizes
        vectors = predictor.outputs(columns)["embedding"]
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, 1e-5)
    assert Predictor(export_of("classification")).count_tokens(columns) == 0
    with pytest.raises(UserError):
        Predictor(version / "vocab.txt")


def at_once(call, given):
    with concurrent.futures.ThreadPoolExecutor(len(given)) as pool:
        return [*pool.map(call, given)]


def ask_at_once(port, texts):
    return at_once(lambda text: ask(port, body={"inputs": [text]}), texts)


def test_each_of_many_clients_gets_its_own_vectors():
    """Requests of several sizes and lengths meet in batches, in any order."""
    predictor = Vectors(seconds=0.002)
    requests = [
        [f"{client:02}{k}" + "x" * (7 * client % 40) for k in range(1 + client % 5)]
        for client in range(64)
    ]
    with serving(predictor, max_rows=8, workers=2) as port:
        answers = at_once(lambda texts: embed(port, {"input": texts}), requests)
    assert max(predictor.calls) > 5  # some were answered together
    for texts, (status, content) in zip(requests, answers, strict=True):
        assert status == 200
        found = np.array([row["embedding"] for row in content["data"]], "float32")
        np.testing.assert_array_equal(found, np.array([*map(vector_of, texts)]))


def test_concurrent_requests_are_answered_together():
    predictor = Lengths(seconds=0.1)
    texts = ["x" * (i % 5) for i in range(16)]
    with serving(predictor, max_rows=8, max_delay_ms=50, workers=1) as port:
        answers = ask_at_once(port, texts)
        metrics = ask(port, "/metrics")[1]
    lengths = [content["outputs"]["length"] for _, content in answers]
    assert lengths == [[len(text)] for text in texts]
    assert sum(predictor.calls) == 16
    assert max(predictor.calls) <= 8
    assert len(predictor.calls) < 8
    assert 'albert_requests_total{status="200"} 16.0' in metrics
    assert "albert_rows_total 16.0" in metrics
    assert f"albert_model_calls {len(predictor.calls)}.0" in metrics
    assert "albert_request_seconds_count 16.0" in metrics
    bounds = re.findall(r'albert_request_seconds_bucket{le="(\S+)"}', metrics)
    assert " ".join(bounds) == "0.005 0.01 0.02 0.05 0.1 0.2 0.5 1.0 2.0 5.0 10.0 +Inf"


def test_layers_and_refusals_are_counted():
    with serving(Leaving()) as port:
        assert ask(port, body={"inputs": ["abc", "ab"]})[0] == 200
        assert ask(port, body={"inputs": ["bad"]})[0] == 400
        metrics = ask(port, "/metrics")[1]
    assert "albert_exit_layer_count 2.0" in metrics
    assert "albert_exit_layer_sum 5.0" in metrics
    bounds = re.findall(r'albert_exit_layer_bucket{le="(\S+)"}', metrics)
    assert bounds == [*(f"{n}.0" for n in range(1, 25)), "+Inf"]  # 24 layers at most
    assert 'albert_requests_total{status="400"} 1.0' in metrics
    assert 'status="500"' not in metrics


def test_texts_of_similar_length_are_answered_together():
    """Padding to the longest would cost more than one call for all saves."""
    predictor, lengths = Lengths(), (5, 500, 6, 510) * 3

    async def ask_all():
        answer = functools.partial(predictor.outputs, batch_size=8)
        batcher = DynamicBatcher(answer, 1, serve.ServeOptions(max_rows=5))
        columns = ({"text": [b"x" * length]} for length in lengths)
        asked = [asyncio.create_task(batcher(column)) for column in columns]
        await asyncio.sleep(0)  # all wait before the first is answered
        running = asyncio.create_task(batcher.run())
        found = await asyncio.gather(*asked)
        running.cancel()
        return [outputs["length"].tolist() for outputs in found]

    assert asyncio.run(ask_all()) == [[length] for length in lengths]
    assert predictor.calls == [5, 5, 1, 1]


def test_workers_answer_at_the_same_time():
    predictor, both = Lengths(), threading.Barrier(2)

    def outputs(columns, batch_size):
        both.wait(timeout=10)
        return Lengths.outputs(predictor, columns, batch_size)

    with serving(predictor, workers=2, max_rows=2, max_delay_ms=20) as port:
        # Both wait for more; one takes what there is, and the other goes on.
        assert ask(port, body={"inputs": ["a"]})[0] == 200
        predictor.outputs = outputs
        answers = ask_at_once(port, ["a", "b" * 400])  # too unlike for one batch
    assert [status for status, _ in answers] == [200, 200]


def test_how_many_rows_may_wait():
    """Of a large request only the part that is next."""
    limits = serve.ServeOptions(max_rows=4, max_waiting_rows=6)

    async def ask_all():
        batcher, asked = DynamicBatcher(None, 1, limits), []
        for count, waiting in ((4, 4), (2, 6), (1, 6), (0, 6), (9, 6)):
            if (count, waiting) == (9, 6):
                asked[0].cancel()
            asked.append(asyncio.create_task(batcher({"text": [b"a"] * count})))
            await asyncio.sleep(0.01)
            assert batcher.rows() == waiting
        *_, refused, _, _ = asked
        assert str(refused.exception()) == "more than 6 rows wait; ask again later."
        assert [task.done() for task in asked] == [True, False, True, False, False]
        for task in asked:
            task.cancel()

    asyncio.run(ask_all())


@pytest.mark.parametrize(
    ("gpus", "workers", "expected"), [([], None, 5), (["GPU"], None, 1), ([], 2, 2)]
)
def test_calls_at_a_time(gpus, workers, expected, monkeypatch):
    made, make = [], server.DynamicBatcher
    monkeypatch.setattr(server.tf.config, "list_physical_devices", lambda kind: gpus)
    monkeypatch.setattr(server, "available_cores", lambda: 5)
    monkeypatch.setattr(
        server, "DynamicBatcher", lambda *own: made.append(own) or make(*own)
    )
    with serving(Lengths(), workers=workers):
        ((_, found, _),) = made
    assert found == expected


def test_a_request_waits_no_longer_than_is_allowed():
    for max_delay_ms, least, most in ((0, 0, 0.5), (700, 0.7, 5)):
        with serving(Lengths(), max_delay_ms=max_delay_ms) as port:
            ask(port, body={"inputs": ["a"]})
            start = time.perf_counter()
            ask(port, body={"inputs": ["a"]})
            assert least <= time.perf_counter() - start < most


def test_what_uvicorn_is_told():
    limits = serve.ServeOptions(max_read_seconds=7.5)
    config = Server(Lengths(), "m", 3, limits).config(backlog=9)
    assert (config.backlog, config.timeout_keep_alive) == (9, 7.5)
    assert (config.ws, config.lifespan, config.log_level) == ("none", "on", "error")
    assert not (config.proxy_headers or config.access_log)
    assert config.timeout_graceful_shutdown == 30


def test_too_many_rows_wait():
    with serving(Lengths(0.3), max_rows=1, max_waiting_rows=2, workers=1) as port:
        answers = ask_at_once(port, ["a"] * 8)
    assert {200, 503} == {status for status, _ in answers}
    refused = [content["error"] for status, content in answers if status == 503]
    assert "more than 2 rows wait" in refused[0]


def test_the_name_and_the_version(tmp_path):
    """The highest one that is complete."""
    version = tmp_path / "sst" / "7"
    for name in ("7", "8"):
        (tmp_path / "sst" / name).mkdir(parents=True)
    other = tmp_path / "named"
    other.mkdir()
    for folder in (version, other):
        (folder / "saved_model.pb").touch()
    for options, expected in (
        ({"export_dir": str(tmp_path / "sst")}, (version, "sst", 7)),
        ({"export_dir": str(version)}, (version, "sst", 7)),
        ({"export_dir": str(other)}, (other, "named", 1)),
        ({"export_dir": str(tmp_path)}, (str(tmp_path), tmp_path.name, 1)),
        ({"model_dir": "out/model"}, ("out/model", "model", 1)),
        ({"model_dir": "out/model", "model_name": "mine"}, ("out/model", "mine", 1)),
    ):
        assert serve._served(serve.ServeOptions(**options)) == expected
    assert serve._address("127.0.0.1", 80) == "http://127.0.0.1:80"
    assert serve._address("::1", 80) == "http://[::1]:80"
