"""Options of the export: other padding, other variables, other files; same answers."""

import os

import numpy as np
import pytest
import tensorflow as tf

from albert_tf import bundle
from albert_tf.errors import UserError
from albert_tf.serving.comparison import Comparison
from albert_tf.serving.loading import build_module
from albert_tf.serving.padding import GROUP
from albert_tf.serving.predictor import Predictor
from albert_tf.serving.served import Served
from albert_tf.tasks.tables import Columns
from tests.serving.answers import TEXTS
from tests.serving.answers import assert_same
from tests.serving.answers import signature


def real_tokens(answers):
    """Outputs along the tokens, without what stands in the place of padding."""
    if "sequence_output" not in answers:
        return answers
    mask = answers["input_mask"][:, :, None]
    return {**answers, "sequence_output": answers["sequence_output"] * mask}


def at_night(*values):
    return pytest.param(*values, marks=pytest.mark.nightly)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("optimize_for", "kind", "task"),
    [
        ("latency", "classification", "auto"),
        ("latency", "pretraining", "masked_lm"),
        ("throughput", "pretraining", "auto"),
        at_night("throughput", "pretraining", "masked_lm"),
        at_night("throughput", "classification", "auto"),
        at_night("latency", "pretraining", "auto"),
    ],
)
def test_optimized_answers_are_the_same(answering, optimize_for, kind, task):
    texts = TEXTS
    if task == "masked_lm":
        texts = [text.replace("film", "[MASK]") for text in TEXTS]
    optimized = answering(kind, task=task, optimize_for=optimize_for)
    expected = answering(kind, task=task)
    for some in (texts, texts[:1], texts[1:2]):
        found = real_tokens(optimized(some, batch_size=24))
        assert_same(found, real_tokens(expected(some, batch_size=24)))


@pytest.fixture(scope="module")
def for_latency(export_of):
    return export_of("classification", optimize_for="latency")


@pytest.mark.slow
@pytest.mark.usefixtures("nothing_converted")
def test_only_latency_compiles(for_latency, classifier):
    def compiles(version):
        functions = signature(version).graph.as_graph_def().library.function
        return any("_XlaMustCompile" in f.attr for f in functions)

    assert compiles(for_latency)
    assert not compiles(classifier.version)


@pytest.mark.slow
def test_throughput_leaves_padding_out(answering):
    """Columns that are padding in all rows of a group are not computed."""
    texts = ["good"] * GROUP + ["very good film " * 9] * GROUP
    answers = answering("pretraining", task="auto", optimize_for="throughput")(texts)
    usual = answering("pretraining", task="auto")(texts)
    assert np.abs(usual["sequence_output"][:GROUP, 3:]).min() > 0
    assert np.abs(answers["sequence_output"][:GROUP, 3:]).max() == 0


@pytest.mark.slow
def test_throughput_with_any_mask(saved_model):
    files = bundle.open(saved_model("classification"))
    usual, throughput = (
        build_module([files], optimize_for=aim)[0].compute
        for aim in (None, "throughput")
    )
    for mask in ([1, 0, 0, 1, 1], [0, 0, 0, 0, 0]):
        features = {
            "input_ids": tf.constant([[2, 7, 11, 9, 3]] * (GROUP + 1)),
            "input_mask": tf.constant([mask] + [[1] * 5] * GROUP),
            "segment_ids": tf.zeros([GROUP + 1, 5], tf.int32),
        }
        expected = usual(features)["probabilities"]
        found = throughput(features)["probabilities"]
        # With nothing to attend to, what is masked counts; no model is made for it.
        first = 0 if any(mask) else 1
        np.testing.assert_allclose(found[first:], expected[first:], rtol=0, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dtype", "optimize_for", "most"),
    [("bfloat16", None, 0.05), at_night("float16", "latency", 0.005)],
)
def test_variables_of_half_the_size(export_of, classifier, dtype, optimize_for, most):
    options = {"variables_dtype": dtype, "optimize_for": optimize_for}
    version = export_of("classification", **options)
    data = "variables/variables.data-00000-of-00001"
    sizes = [os.path.getsize(v / data) for v in (version, classifier.version)]
    assert sizes[0] < 0.6 * sizes[1]
    answers = Predictor(version).arrays(TEXTS)["probabilities"]
    expected = Predictor(classifier.version).arrays(TEXTS)["probabilities"]
    assert 0 < np.abs(answers - expected).max() < most


def test_changes_and_answers_that_are_not_numbers_are_told(opened, tmp_path):
    """In any batch: the first one here, of two."""
    path, model = tmp_path / "dev.tsv", opened("classification")
    path.write_text("sentence\tlabel\n" + "bad\tno\n" * 40)
    served = Served(None, model.task, model.tokenizer)
    table = model.task.read(str(path), Columns("sentence", None, "label"))
    comparison = Comparison(table, served, 24)

    def answering(first, other):
        """Answers the first batch, of 32, and the other, of 8: how probable "no" is."""

        def answer(features):
            rows = tf.shape(features["input_ids"])[0]
            share = tf.where(rows == 32, first, other)
            return {"probabilities": tf.tile([[share, 1 - share]], [rows, 1])}

        return answer

    right = comparison.numbers(answering(0.75, 0.75))
    with pytest.raises(UserError, match="int8 model answers what is not a number"):
        comparison(right, "int8", answering(np.nan, 0.5))
    told = comparison(right, "int8", answering(0.25, 0.75))
    assert told["largest_change"] == {"probabilities": 0.5}
    accuracy = {"original": 1, "int8": pytest.approx(0.2)}
    assert told["eval"]["accuracy"] == accuracy
