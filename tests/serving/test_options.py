"""Options of the export: other padding, other variables, other files; same answers."""

import json
import os

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.errors import UserError
from albert_tf.serving.comparison import Comparison
from albert_tf.serving.description import WARMUP_FILE
from albert_tf.serving.padding import GROUP
from albert_tf.serving.padding import compiled_lengths
from albert_tf.serving.predictor import Predictor
from albert_tf.serving.served import Served
from albert_tf.tasks.tables import Columns
from albert_tf.tokenization import load_tokenizer
from tests.serving.answers import TEXTS
from tests.serving.answers import assert_same
from tests.serving.answers import labelled_file
from tests.serving.answers import signature


@pytest.mark.slow
@pytest.mark.parametrize(
    ("optimize_for", "model"),
    [
        ("latency", "classifier"),
        ("throughput", "masked_lm"),
        pytest.param("latency", "masked_lm", marks=pytest.mark.nightly),
        pytest.param("throughput", "classifier", marks=pytest.mark.nightly),
    ],
)
def test_optimized_answers_are_the_same(exported_with, request, optimize_for, model):
    served = request.getfixturevalue(model)
    task = "masked_lm" if model == "masked_lm" else "auto"
    texts = [text.replace("film", "[MASK]") for text in TEXTS]
    version = exported_with(served, optimize_for=optimize_for, task=task)
    predictor, expected = Predictor(version), Predictor(served.version)
    assert_same(
        predictor.arrays(texts, batch_size=24), expected.arrays(texts, batch_size=24)
    )
    for text in texts[:3]:
        assert_same(predictor.arrays([text]), expected.arrays([text]))


def real_tokens(answers):
    """Outputs along the tokens, without what stands in the place of padding."""
    mask = answers["input_mask"][:, :, None]
    return {**answers, "sequence_output": answers["sequence_output"] * mask}


@pytest.mark.slow
@pytest.mark.parametrize("optimize_for", ["latency", "throughput"])
def test_optimized_encoder(exported_with, encoder, optimize_for):
    predictor = Predictor(exported_with(encoder, optimize_for=optimize_for))
    expected = Predictor(encoder.version)
    for texts in (TEXTS, TEXTS[:1]):
        assert_same(
            real_tokens(predictor.arrays(texts)), real_tokens(expected.arrays(texts))
        )


def function_defs(version):
    return signature(version).graph.as_graph_def().library.function


@pytest.mark.slow
@pytest.mark.usefixtures("nothing_converted")
def test_only_latency_compiles(exported_with, classifier):
    def compiles(version):
        return any("_XlaMustCompile" in f.attr for f in function_defs(version))

    assert compiles(exported_with(classifier, optimize_for="latency"))
    assert not compiles(exported_with(classifier, optimize_for="throughput"))


def test_warmup_compiles_every_length(exported_with, classifier):
    version = exported_with(classifier, optimize_for="latency")
    positions = classifier.model.config.max_position_embeddings
    assert compiled_lengths(positions) == [8, 16, 24, 32]
    from tensorflow_serving.apis import prediction_log_pb2 as log_pb2

    shapes = []
    for record in tf.data.TFRecordDataset(str(version / WARMUP_FILE)):
        log = log_pb2.PredictionLog.FromString(record.numpy()).predict_log.request
        if log.model_spec.signature_name == "tokens":
            shapes.append(tf.make_ndarray(log.inputs["input_ids"]).shape)
    assert shapes[1:] == [(1, 8), (1, 16), (1, 24)]  # texts have 24 tokens at most


@pytest.mark.slow
def test_throughput_leaves_padding_out(exported_with, encoder):
    """Columns that are padding in all rows of a group are not computed."""
    texts = ["good"] * GROUP + ["very good film " * 9] * GROUP
    answers = Predictor(exported_with(encoder, optimize_for="throughput")).arrays(texts)
    usual = Predictor(encoder.version).arrays(texts)
    assert np.abs(usual["sequence_output"][:GROUP, 3:]).min() > 0
    assert np.abs(answers["sequence_output"][:GROUP, 3:]).max() == 0


@pytest.mark.parametrize("mask", [[1, 0, 0, 1, 1], [0, 0, 0, 0, 0]])
def test_throughput_with_any_mask(exported_with, classifier, mask):
    version = exported_with(classifier, optimize_for="throughput")
    features = {
        "input_ids": tf.constant([[2, 7, 11, 9, 3]] * (GROUP + 1)),
        "input_mask": tf.constant([mask] + [[1] * 5] * GROUP),
        "segment_ids": tf.zeros([GROUP + 1, 5], tf.int32),
    }
    expected = signature(classifier.version, "tokens")(**features)["probabilities"]
    found = signature(version, "tokens")(**features)["probabilities"]
    # With nothing to attend to, what is masked counts; the model was not made for it.
    first = 0 if any(mask) else 1
    np.testing.assert_allclose(found[first:], expected[first:], rtol=0, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dtype", "optimize_for"),
    [
        pytest.param("float16", None, marks=pytest.mark.nightly),
        ("bfloat16", "latency"),
    ],
)
def test_variables_of_half_the_size(exported_with, classifier, dtype, optimize_for):
    version = exported_with(
        classifier, variables_dtype=dtype, optimize_for=optimize_for
    )
    data = "variables/variables.data-00000-of-00001"
    sizes = [os.path.getsize(v / data) for v in (version, classifier.version)]
    assert sizes[0] < 0.6 * sizes[1]
    answers = Predictor(version).arrays(TEXTS)["probabilities"]
    expected = Predictor(classifier.version).arrays(TEXTS)["probabilities"]
    deviation = np.abs(answers - expected).max()
    assert 0 < deviation < (0.005 if dtype == "float16" else 0.05)


def test_answers_that_are_not_numbers_are_told(classifier, tmp_path):
    """In any batch: the first one here, of two."""
    path = tmp_path / "dev.tsv"
    path.write_text("sentence\tlabel\n" + "bad\tno\n" * 40)
    columns = Columns("sentence", None, "label")
    task, tokenizer = classifier.task, load_tokenizer(classifier.model_dir)
    served = Served(None, task, tokenizer)
    comparison = Comparison(str(path), columns, served, 24)

    def answering(features, first, other):
        """Answers the first batch, of 32, and the other, of 8."""
        rows = tf.shape(features["input_ids"])[0]
        return {"probabilities": tf.fill([rows, 2], tf.where(rows == 32, first, other))}

    def wrong(features):
        return answering(features, np.nan, 0.5)

    def right(features):
        return answering(features, 0.5, 0.5)

    with pytest.raises(UserError, match="int8 model answers what is not a number"):
        comparison(right, "int8", wrong)


def test_what_another_type_costs(exported_with, classifier, tmp_path, capfd):
    dtype = "bfloat16"
    eval_file = labelled_file(tmp_path / "dev.tsv")
    version = exported_with(classifier, compute_dtype=dtype, eval_file=eval_file)
    described = json.loads((version / "signature.json").read_text())
    assert set(described["eval"]["accuracy"]) == {"original", dtype}
    change = described["largest_change"]["probabilities"]
    texts = ["a good film", "bad", "not good"]
    found = Predictor(version).arrays(texts)["probabilities"]
    expected = Predictor(classifier.version).arrays(texts)["probabilities"]
    np.testing.assert_allclose(change, np.abs(found - expected).max(), rtol=1e-2)
    assert change > 1e-6
    printed = capfd.readouterr().out
    assert f"accuracy: original {described['eval']['accuracy']['original']:.4f}, " in (
        printed
    )
    assert f"largest change of probabilities: {change:.4f}" in printed
    card = (version / "model_card.md").read_text()
    assert "- largest change: " in card


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"eval_file": "dev.tsv"}, "--eval_file compares exports that change"),
        ({"format": "tflite", "optimize_for": "latency"}, "--optimize_for=latency"),
        ({"format": "onnx", "variables_dtype": "float16"}, "--variables_dtype=float16"),
        ({"format": "tflite", "eval_file": "nowhere.tsv"}, "nowhere.tsv"),
        (
            {"format": "tflite", "eval_file": "x.tsv", "text_pair_column": "b"},
            "takes single texts; leave out --text_pair_column",
        ),
    ],
)
def test_options_that_do_not_go_together(exported_with, classifier, options, message):
    with pytest.raises(UserError, match=message):
        exported_with(classifier, **options)


@pytest.mark.parametrize("other", [{"format": "tflite"}, {"compute_dtype": "bfloat16"}])
def test_eval_file_needs_a_fine_tuned_model(exported_with, encoder, other):
    with pytest.raises(
        UserError, match="needs one fine-tuned model, but this export is enc"
    ):
        exported_with(encoder, eval_file="dev.tsv", **other)
