"""Vectors over HTTP, in the form of OpenAI's clients."""

import base64
import concurrent.futures

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.errors import UserError
from albert_tf.serving.inputs import Inputs
from albert_tf.serving.predictor import Predictor
from tests.serving.served import Lengths
from tests.serving.served import ask
from tests.serving.served import serving

_WIDTH = 4


def vector_of(text):
    """A vector that no other text has, of length 1."""
    numbers = np.frombuffer(text.ljust(_WIDTH).encode()[:_WIDTH], np.uint8)
    return (numbers / np.linalg.norm(numbers.astype("float32"))).astype("float32")


class Vectors(Lengths):
    """Stands for a `Predictor` of a model of vectors."""

    normalizes = True

    def __init__(self, seconds=0.0):
        super().__init__(seconds)
        self.signature = tf.function(
            lambda text: {"embedding": tf.zeros([tf.size(text), _WIDTH])}
        ).get_concrete_function(text=tf.TensorSpec([None], tf.string, "text"))

    def columns(self, /, *texts, **named):
        return Inputs({"text": 1}, ("text",)).columns(texts, named)

    def outputs(self, columns, batch_size):
        super().outputs(columns, batch_size)
        texts = [text.decode() for text in columns["text"]]
        return {"embedding": np.array([*map(vector_of, texts)])}

    def count_tokens(self, columns):
        return sum(len(text.split()) + 2 for text in columns["text"])


def embed(port, body, raw=None):
    return ask(port, "/v1/embeddings", body, raw, base="")[:2]


@pytest.fixture(scope="module")
def port():
    with serving(Vectors(), max_request_bytes=500, max_waiting_rows=8) as port:
        yield port


def test_vectors_by_number_and_in_base_64(port):
    texts = ["a film", "it was good"]
    body = {"model": "m", "input": texts, "user": "u", "encoding_format": None}
    status, content = embed(port, body)
    assert status == 200
    assert content["object"] == "list"
    assert content["model"] == "m"
    assert content["usage"] == {"prompt_tokens": 9, "total_tokens": 9}
    rows = [(row["object"], row["index"]) for row in content["data"]]
    assert rows == [("embedding", 0), ("embedding", 1)]
    expected = np.array([*map(vector_of, texts)])
    np.testing.assert_array_equal(
        np.array([row["embedding"] for row in content["data"]], "float32"), expected
    )
    _, content = embed(port, {**body, "encoding_format": "base64"})
    sent = [base64.b64decode(row["embedding"]) for row in content["data"]]
    np.testing.assert_array_equal(
        np.frombuffer(b"".join(sent), "<f4"), expected.ravel()
    )


def test_shorter_vectors_have_length_one(port):
    _, content = embed(port, {"input": "abcd", "dimensions": 2})
    (found,) = (row["embedding"] for row in content["data"])
    expected = vector_of("abcd")[:2]
    np.testing.assert_allclose(found, expected / np.linalg.norm(expected), 1e-6)


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ({}, 400, '"input" must be a text or a list of texts.'),
        ({"input": [1, 2]}, 400, '"input" holds token ids: send texts'),
        ({"input": [[1, 2]]}, 400, '"input" holds token ids: send texts'),
        ({"input": ["a", None]}, 400, "text[1] must be a str, got NoneType."),
        ({"input": "a", "dimensions": 5}, 400, "must be 1 to 4, the model's."),
        ({"input": "bad"}, 400, "bad is refused."),
        ({"input": "a", "model": "x"}, 404, "There is no model x."),
        ({"input": ["a"] * 9}, 413, "9 texts for text; the server takes 8 at most"),
        ({"input": "broken"}, 500, "The server failed; its log says why."),
    ],
)
def test_an_error_has_openais_form(port, body, status, message):
    found, content = embed(port, body)
    assert found == status
    assert message in content["error"].pop("message")
    kind = "server_error" if status == 500 else "invalid_request_error"
    assert content == {"error": {"type": kind, "param": None, "code": None}}


def test_a_model_without_vectors():
    with serving(Lengths()) as port:
        status, content = embed(port, {"input": "a"})
        assert ask(port, "/health", base="")[:2] == (200, {"status": "ok"})
    assert status == 404
    assert content["error"]["message"] == "m has no vectors: ask /v1/models/m:predict."


def test_each_of_many_clients_gets_its_own_vectors():
    """Requests of several sizes and lengths meet in batches, in any order."""
    predictor = Vectors(seconds=0.002)
    requests = [
        [f"{client:02}{k}" + "x" * (7 * client % 40) for k in range(1 + client % 5)]
        for client in range(64)
    ]
    with (
        serving(predictor, max_rows=8, workers=2) as port,
        concurrent.futures.ThreadPoolExecutor(64) as pool,
    ):
        answers = [*pool.map(lambda texts: embed(port, {"input": texts}), requests)]
    assert max(predictor.calls) > 5  # some were answered together
    for texts, (status, content) in zip(requests, answers, strict=True):
        assert status == 200
        found = np.array([row["embedding"] for row in content["data"]], "float32")
        np.testing.assert_array_equal(found, np.array([*map(vector_of, texts)]))


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
    served = Predictor(export_of("similarity"))
    assert served.count_tokens(columns) == 0
    with pytest.raises(UserError):
        Predictor(version / "vocab.txt")
