"""Ranks over HTTP, in the form of Cohere's and Jina's clients."""

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.reranker import Reranker
from albert_tf.serving.export import ExportOptions
from albert_tf.serving.export import export
from albert_tf.serving.inputs import Inputs
from albert_tf.serving.predictor import Predictor
from tests.serving.served import Lengths
from tests.serving.served import ask
from tests.serving.served import serving

_STRING = tf.TensorSpec([None], tf.string)


class Scores(Lengths):
    """Stands for a `Predictor` of a reranker: the letters that both texts have."""

    inputs = ("text", "text_pair")

    def __init__(self):
        super().__init__()
        self.signature = tf.function(
            lambda text, text_pair: {"score": tf.zeros([tf.size(text)])}
        ).get_concrete_function(text=_STRING, text_pair=_STRING)

    def columns(self, /, *texts, **named):
        ranks = dict.fromkeys(self.inputs, 1)
        return Inputs(ranks, self.inputs).columns(texts, named)

    def outputs(self, columns, batch_size):
        pairs = zip(columns["text"], columns["text_pair"], strict=True)
        return {"score": np.float32([len({*a} & {*b}) / 8 for a, b in pairs])}


def rank(port, body, path="/rerank"):
    return ask(port, path, body, base="")[:2]


@pytest.fixture(scope="module")
def port():
    with serving(Scores(), max_waiting_rows=8, max_request_bytes=500) as port:
        yield port


@pytest.mark.parametrize("path", ["/rerank", "/v1/rerank", "/v2/rerank"])
def test_documents_are_ranked(port, path):
    body = {
        "model": "m",
        "query": "abc",
        "documents": ["x", {"text": "cb"}, "abc", "b"],
    }
    status, content = rank(port, body, path)
    assert status == 200
    results = [(row["index"], row["relevance_score"]) for row in content["results"]]
    assert results == [(2, 0.375), (1, 0.25), (3, 0.125), (0, 0.0)]
    _, content = rank(port, {**body, "top_n": 2, "return_documents": True}, path)
    texts = [row["document"]["text"] for row in content["results"]]
    assert texts == ["abc", "cb"]


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ({"documents": ["a"]}, 400, '"query" must be a text.'),
        ({"query": "q", "documents": [{"title": "a"}]}, 400, 'objects with a "text".'),
        ({"query": "q", "documents": ["a"], "top_n": 0}, 400, "a positive integer."),
        ({"query": "q", "documents": ["a"], "model": "x"}, 404, "is no model x."),
        ({"query": "q", "documents": ["a"] * 9}, 413, "the server takes 8 at most"),
        (
            {"query": "q" * 101, "documents": ["a"] * 5},
            413,
            "The query has 101 characters for each of 5 documents; the server takes",
        ),
    ],
)
def test_an_error_is_a_message(port, body, status, message):
    found, content = rank(port, body)
    assert found == status
    assert content.keys() == {"message"}
    assert message in content["message"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "format"),
    [("ranking", None), ("multi_label", "saved_model"), ("multi_label", "onnx")],
)
def test_a_model_ranks_as_in_python(kind, format, opened, tmp_path):
    """A classifier of pairs with one label that may apply, as cross-encoders are."""
    made = opened("multi_label")
    labels = {"num_labels": 1, "labels": ["relevant"], "label_kind": "multi_label"}
    model = type(made.model)(made.model.config, **labels)
    task = {"kind": kind, "name": "custom", "labels": ["relevant"], "pair": True}
    source = tmp_path / "model"
    model.save_pretrained(source, made.tokenizer, {"task": task})
    texts = ["a film", "the plot is bad", "not good"]
    expected = Reranker(source).rank("which film", texts)
    if format is not None:
        target = str(tmp_path / "export")
        source = export(ExportOptions(str(source), target, format=format))
    with serving(Predictor(source)) as port:
        _, content = rank(port, {"query": "which film", "documents": texts})
    assert [row["index"] for row in content["results"]] == [
        row["index"] for row in expected
    ]
    np.testing.assert_allclose(
        [row["relevance_score"] for row in content["results"]],
        [row["score"] for row in expected],
        atol=1e-6,
    )
