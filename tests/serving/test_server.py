"""Requests over HTTP: TensorFlow Serving's paths, gathered, limited, counted."""

import asyncio
import base64
import concurrent.futures
import contextlib
import functools
import re
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest
import tensorflow as tf

from albert_tf.commands import serve
from albert_tf.serving import server
from albert_tf.serving.dynamic_batching import DynamicBatcher
from albert_tf.tasks.served_answers import EXIT_LAYER
from tests.serving import served
from tests.serving.served import Lengths
from tests.serving.served import serving


def ask(*arguments, **named):
    """The status of an answer, and its content."""
    return served.ask(*arguments, **named)[:2]


@pytest.fixture(scope="module")
def port():
    with serving(Lengths(), max_request_bytes=500) as port:
        yield port


@pytest.mark.parametrize(
    ("body", "answer"),
    [
        (
            {"inputs": {"text": ["abc", ""]}},
            {"outputs": {"length": [3, 0], "first": ["a", ""]}},
        ),
        ({"inputs": ["ab"]}, {"outputs": {"length": [2], "first": ["a"]}}),
        (
            {
                "signature_name": "serving_default",
                "instances": [{"text": "abc"}, {"text": "d"}],
            },
            {"predictions": [{"length": 3, "first": "a"}, {"length": 1, "first": "d"}]},
        ),
        ({"instances": ["xy"]}, {"predictions": [{"length": 2, "first": "x"}]}),
        (
            {"instances": [{"b64": base64.b64encode("ü".encode()).decode()}]},
            {"predictions": [{"length": 1, "first": "ü"}]},
        ),
    ],
)
@pytest.mark.parametrize("path", [":predict", "/versions/3:predict"])
def test_both_forms_of_a_request(port, path, body, answer):
    assert ask(port, path, body) == (200, answer)


@pytest.mark.parametrize(
    ("raw", "status", "message"),
    [
        ("{", 400, "The request is no JSON: "),
        (
            '{"instances": [{"text": "a", "text": "b"}]}',
            400,
            "The request is no JSON: it sets 'text' twice in one object.",
        ),
        ("[]", 400, "The request is no JSON object."),
        ("{}", 400, 'Give "inputs" (by column) or "instances" (by row).'),
        ('{"instances": []}', 400, '"instances" must be a list of rows.'),
        ('{"instances": [{"text": "a"}, {}]}', 400, "have different inputs."),
        ('{"instances": [{"b64": "?"}]}', 400, 'The value of "b64" is not in base 64.'),
        ('{"inputs": {"title": ["a"]}}', 400, "The model takes text, but got title."),
        ('{"inputs": {"text": [1]}}', 400, "text[0] must be a str, got int."),
        ('{"inputs": ["bad"]}', 400, "bad is refused."),
        ('{"signature_name": "x", "inputs": ["a"]}', 400, "must be serving_default"),
        (" " * 501, 413, "The request has more than 500 bytes."),
    ],
)
def test_a_bad_request_gets_a_sentence(port, raw, status, message):
    found, content = ask(port, raw=raw)
    assert found == status
    assert message in content["error"]


def test_another_model_or_version(port):
    assert ask(port, "x:predict", {})[0] == 404
    status, content = ask(port, "/versions/4:predict", {})
    assert (status, content) == (404, {"error": "m has no version 4."})
    assert ask(port, "/versions/4")[0] == ask(port, "x/metadata")[0] == 404


def test_status_and_metadata(port):
    status, content = ask(port, "")
    assert status == 200
    (version,) = content["model_version_status"]
    assert (version["version"], version["state"]) == ("3", "AVAILABLE")
    status, content = ask(port, "/metadata")
    assert content["model_spec"]["name"] == "m"
    signatures = content["metadata"]["signature_def"]["signature_def"]
    described = signatures["serving_default"]
    assert described["inputs"]["text"]["dtype"] == "DT_STRING"
    assert described["outputs"]["length"]["dtype"] == "DT_INT32"
    shape = described["outputs"]["length"]["tensor_shape"]
    assert shape == {"dim": [{"size": "-1", "name": ""}], "unknown_rank": False}


def ask_at_once(port, texts):
    with concurrent.futures.ThreadPoolExecutor(len(texts)) as pool:
        asked = [pool.submit(ask, port, body={"inputs": [text]}) for text in texts]
        return [future.result() for future in asked]


def test_an_empty_list_costs_as_much_as_a_text():
    rows = ("a", [], ["a"], ["a", "b"])
    assert list(map(server._texts, rows)) == [1, 1, 1, 2]


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


class Leaving(Lengths):
    """Answers each text after as many layers as it has letters."""

    def __init__(self):
        super().__init__()
        self.signature = tf.function(
            lambda **strings: {EXIT_LAYER: tf.strings.length(strings["text"])}
        ).get_concrete_function(text=tf.TensorSpec([None], tf.string, "text"))

    def outputs(self, columns, batch_size):
        found = super().outputs(columns, batch_size)
        return {"first": found["first"], EXIT_LAYER: found["length"]}


def test_layers_and_refusals_are_counted():
    with serving(Leaving()) as port:
        assert ask(port, body={"inputs": ["abc", "ab"]})[0] == 200
        assert ask(port, body={"inputs": ["bad"]})[0] == 400
        metrics = ask(port, "/metrics")[1]
    assert "albert_exit_layer_count 2.0" in metrics
    assert "albert_exit_layer_sum 5.0" in metrics
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
    predictor.outputs = lambda columns, batch_size: (
        both.wait(timeout=30) is None or Lengths.outputs(predictor, columns, batch_size)
    )
    with serving(predictor, workers=2, max_rows=1) as port:
        answers = ask_at_once(port, ["a", "bc"])
    assert [status for status, _ in answers] == [200, 200]


def test_a_request_waits_no_longer_than_is_allowed():
    for max_delay_ms, least, most in ((0, 0, 0.5), (700, 0.7, 5)):
        with serving(Lengths(), max_delay_ms=max_delay_ms) as port:
            ask(port, body={"inputs": ["a"]})
            start = time.perf_counter()
            ask(port, body={"inputs": ["a"]})
            assert least <= time.perf_counter() - start < most


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
    (version / "saved_model.pb").touch()
    for options, expected in (
        ({"export_dir": str(tmp_path / "sst")}, (version, "sst", 7)),
        ({"export_dir": str(version)}, (version, "sst", 7)),
        ({"export_dir": str(tmp_path)}, (str(tmp_path), tmp_path.name, 1)),
        ({"model_dir": "out/model"}, ("out/model", "model", 1)),
        ({"model_dir": "out/model", "model_name": "mine"}, ("out/model", "mine", 1)),
    ):
        assert serve._served(serve.ServeOptions(**options)) == expected


@pytest.mark.slow
def test_the_command_answers_and_drains(classifier):
    """The request that runs when SIGTERM comes gets its answer; half a one is not."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "albert_tf", "serve"]
    command += [f"--export_dir={classifier.version}", f"--port={port}"]
    command += ["--model_name=m", "--max_delay_ms=1500"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        while True:
            with contextlib.suppress(OSError):
                status, content = ask(port, "")
                break
            assert process.poll() is None
            time.sleep(0.2)
        assert status == 200
        with (
            concurrent.futures.ThreadPoolExecutor() as pool,
            socket.create_connection(("127.0.0.1", port)) as half,
        ):
            half.sendall(b"POST /v1/models/m:predict HTTP/1.1\r\nHost: m\r\n")
            asked = pool.submit(ask, port, body={"inputs": {"text": ["good"]}})
            time.sleep(0.5)
            process.send_signal(signal.SIGTERM)
            status, content = asked.result()
            said = process.communicate(timeout=20)[1]
    assert (status, process.returncode) == (200, 0)
    assert f"Serving http://127.0.0.1:{port}/v1/models/m" in said
    assert "Traceback" not in said
    assert content["outputs"]["label"][0] in ("no", "yes")
