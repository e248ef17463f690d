"""Whoever runs servers exports a file, starts it, probes it and asks it."""

import concurrent.futures
import json
import os
import shlex
import signal
import socket
import subprocess
import time
import urllib.request

import numpy as np
import pytest

pytestmark = pytest.mark.slow

_EXPORT = (
    "albert-tf export --model_dir=wikipedia_small --export_dir=served --task=embedding "
    "--format=onnx --compute_dtype=int8"
)
_MANY = 500
_BODY = {"inputs": {"text": ["the king of france", "a kingdom", "green apples"]}}


def _answer(url, body=None):
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(url, data, timeout=10) as answer:
        return answer.read()


def test_a_server_of_an_int8_file(newcomer, environment):
    newcomer.types(_EXPORT)
    serve = newcomer.block("docs/serving.md", "A server in one command")
    _, line = serve.strip().splitlines()
    _, command, *_ = shlex.split(line, comments=True)
    with socket.socket() as chosen:
        chosen.bind(("localhost", 0))
        port = chosen.getsockname()[1]
    process = subprocess.Popen(
        [environment / "albert-tf", command, "--export_dir=served", f"--port={port}"],
        cwd=newcomer.folder,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": ""},
    )
    url = f"http://localhost:{port}"
    try:
        for _ in range(300):
            try:
                _answer(f"{url}/healthz")
                break
            except OSError:
                assert process.poll() is None
                time.sleep(0.2)
        found = json.loads(_answer(f"{url}/v1/models/served:predict", _BODY))
        vectors = np.array(found["outputs"])
        france, kingdom, apples = vectors.reshape(3, -1)
        assert france @ kingdom > france @ apples
        assert b"requests" in _answer(f"{url}/metrics")
        with concurrent.futures.ThreadPoolExecutor() as pool:
            many = {"inputs": {"text": ["the king of france " * 9] * _MANY}}
            asked = pool.submit(_answer, f"{url}/v1/models/served:predict", many)
            time.sleep(0.3)
            process.send_signal(signal.SIGTERM)  # in the middle of the request
            assert len(json.loads(asked.result())["outputs"]) == _MANY
        said = process.communicate(timeout=30)[1]
    finally:
        process.kill()
    assert process.returncode == 0
    assert b"Traceback" not in said
