"""Options of the export: other padding, variables, types; nearly the same answers."""

import dataclasses
import itertools
import os
import types

import numpy as np
import pytest
import tensorflow as tf

from albert_tf import bundle
from albert_tf.errors import UserError
from albert_tf.serving.comparison import Comparison
from albert_tf.serving.comparison import check_comparable
from albert_tf.serving.inputs import outputs_of
from albert_tf.serving.loading import build_module
from albert_tf.serving.padding import GROUP
from albert_tf.serving.padding import compiled_for_one
from albert_tf.serving.padding import compiled_lengths
from albert_tf.serving.served import Served
from albert_tf.tasks.tables import Columns
from tests.serving import answers
from tests.serving.answers import TEXTS

_TOKENS = np.array([[2, 7, 11, 9, 3, 0], [2, 5, 6, 3, 12, 3]], "int32")
_FEATURES = {
    "input_ids": _TOKENS,
    "input_mask": (_TOKENS > 0).astype("int32"),
    "segment_ids": np.array([[0] * 6, [0, 0, 0, 0, 1, 1]], "int32"),
}


def answering(folder, **options):
    """Makes a function from texts to arrays, of a module that is built as an export's.

    It is not written and read again.
    """
    module, _, _ = build_module([bundle.open(folder)], **options)
    answer = module.text_signature()
    return lambda texts: outputs_of(answer, {"text": [*map(str.encode, texts)]}, 24)


def real_tokens(outputs):
    """Outputs along the tokens, without what stands in the place of padding."""
    if "sequence_output" not in outputs:
        return outputs
    mask = outputs["input_mask"][:, :, None]
    return {**outputs, "sequence_output": outputs["sequence_output"] * mask}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("optimize_for", "kind", "task"),
    [
        ("latency", "pretraining", "masked_lm"),
        ("throughput", "pretraining", "auto"),
        answers.at_night("latency", "classification", "auto"),
        answers.at_night("throughput", "pretraining", "masked_lm"),
        answers.at_night("throughput", "classification", "auto"),
        answers.at_night("latency", "pretraining", "auto"),
    ],
)
def test_optimized_answers_are_the_same(saved_model, optimize_for, kind, task):
    texts = TEXTS
    if task == "masked_lm":
        texts = [text.replace("film", "[MASK]") for text in TEXTS]
    folder = saved_model(kind)
    optimized = answering(folder, task=task, optimize_for=optimize_for)
    expected = answering(folder, task=task)
    for some in (texts, texts[:1], texts[1:2]):
        answers.assert_same(real_tokens(optimized(some)), real_tokens(expected(some)))


@pytest.mark.slow
@pytest.mark.usefixtures("nothing_converted")
def test_only_latency_compiles(export_of, classifier):
    def compiles(version):
        functions = answers.signature(version).graph.as_graph_def().library.function
        return any("_XlaMustCompile" in f.attr for f in functions)

    assert compiles(export_of("classification", optimize_for="latency"))
    assert not compiles(classifier.version)


@pytest.mark.parametrize("pads_left", [False, True])
def test_a_row_is_padded_to_the_next_length(pads_left):
    served = types.SimpleNamespace(
        feature_specs=lambda: {"input_ids": tf.TensorSpec([None, None], "int32")},
        layout=types.SimpleNamespace(pads_left=pads_left, nowhere=0),
        longest=20,
        task=types.SimpleNamespace(feature_axes=2, along={}),
    )
    compute = compiled_for_one(served, lambda features: {**features})
    for tokens, padded in ((1, 8), (8, 8), (9, 16), (17, 20), (20, 20)):
        ids, padding = np.ones((1, tokens), "int32"), [0, padded - tokens]
        found = compute({"input_ids": tf.constant(ids)})["input_ids"]
        expected = np.pad(ids, [[0, 0], padding[::-1] if pads_left else padding])
        np.testing.assert_array_equal(found, expected)
    for longest, last in ((7, [7]), (16, [8, 16]), (17, [8, 16, 17])):
        assert compiled_lengths(longest) == last
    *lengths, last = compiled_lengths(600)
    assert (lengths[-1], last) == (512, 600)
    assert all(n % 8 == 0 and n <= 2 * m for m, n in itertools.pairwise(lengths))
    ids = tf.ones([2, 9], tf.int32)
    np.testing.assert_array_equal(compute({"input_ids": ids})["input_ids"], ids)


@pytest.mark.slow
def test_throughput_leaves_padding_out(saved_model):
    """Columns that are padding in all rows of a group are not computed."""
    texts = ["good"] * GROUP + ["very good film " * 9] * GROUP
    usual, found = (
        answering(saved_model("pretraining"), optimize_for=aim)(texts)
        for aim in (None, "throughput")
    )
    assert np.abs(usual["sequence_output"][:GROUP, 3:]).min() > 0
    assert np.abs(found["sequence_output"][:GROUP, 3:]).max() == 0


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
            "input_mask": tf.constant([[1] * 5] + [mask] * GROUP),
            "segment_ids": tf.zeros([GROUP + 1, 5], tf.int32),
        }
        expected = usual(features)["probabilities"]
        found = throughput(features)["probabilities"]
        # With nothing to attend to, what is masked counts; no model is made for it.
        count = len(found) if any(mask) else 1
        np.testing.assert_allclose(found[:count], expected[:count], rtol=0, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dtype", "optimize_for", "most"),
    [("bfloat16", None, 0.05), answers.at_night("float16", "latency", 0.005)],
)
def test_variables_of_half_the_size(export_of, classifier, dtype, optimize_for, most):
    options = {"variables_dtype": dtype, "optimize_for": optimize_for}
    version = export_of("classification", **options)
    data = "variables/variables.data-00000-of-00001"
    sizes = [os.path.getsize(v / data) for v in (version, classifier.version)]
    assert sizes[0] < 0.6 * sizes[1]
    change = answers.shares(version, TEXTS) - answers.shares(classifier.version, TEXTS)
    assert 0 < np.abs(change).max() < most


def test_changes_and_answers_that_are_not_numbers_are_told(opened, tmp_path):
    """In any batch: the first one here, of two."""
    path, model = tmp_path / "dev.tsv", opened("classification")
    path.write_text("sentence\tlabel\n" + "bad\tno\n" * 40)
    served = Served(None, model.task, model.tokenizer)
    table = model.task.read(str(path), Columns("sentence", None, "label"))
    comparison = Comparison(table, served, 24)

    def of_batches(first, other):
        """Answers the first batch, of 32, and the other, of 8: how probable "no" is."""

        def answer(features):
            rows = tf.shape(features["input_ids"])[0]
            share = tf.where(rows == 32, first, other)
            return {"probabilities": tf.tile([[share, 1 - share]], [rows, 1])}

        return answer

    in_windows = dataclasses.replace(model.task, long_texts="windows")
    with pytest.raises(UserError, match="but m reads texts in windows; leave --eval_"):
        check_comparable("m", in_windows, Columns("sentence", None, "label"))
    right = comparison.numbers(of_batches(0.75, 0.75))
    with pytest.raises(UserError, match="int8 model answers what is not a number"):
        comparison(right, "int8", of_batches(np.nan, 0.5))
    told = comparison(right, "int8", of_batches(0.25, 0.75))
    assert told["largest_change"] == {"probabilities": 0.5}
    accuracy = {"original": 1, "int8": pytest.approx(0.2)}
    assert told["eval"]["accuracy"] == accuracy


@pytest.mark.slow
def test_what_another_type_costs_and_weights_are_cast_once(
    classifier, tmp_path, capsys
):
    options = {"compute_dtype": "bfloat16", "optimize_for": "throughput"}
    options["eval_file"] = answers.labelled_file(tmp_path / "dev.tsv")
    version = answers.exported(classifier.folder, tmp_path / "m", **options)
    printed = capsys.readouterr().out
    texts = ["a good film", "bad", "not good"]  # those of `labelled_file`
    found = answers.shares(version, texts)
    change = np.abs(found - answers.shares(classifier.version, texts)).max()
    assert 1e-6 < change < 0.02
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-6)
    facts = answers.described(version)
    told = facts["largest_change"]["probabilities"]
    assert told == pytest.approx(change, rel=1e-2)
    assert f"largest change of probabilities: {told:.4f}" in printed
    accuracy = facts["eval"]["accuracy"]
    assert accuracy.keys() == {"original", "bfloat16"}
    original, rounded = accuracy.values()
    told = f"accuracy: original {original:.4f}, bfloat16 {rounded:.4f}, drop"
    assert told in printed
    loaded = tf.saved_model.load(str(version))
    weights = {v.dtype.name for v in loaded.weights if v.dtype.is_floating}
    assert weights == {"bfloat16", "float32"}
    rounded = [v for v in loaded.weights if v.dtype == tf.bfloat16]
    numbers = sum(np.prod(v.shape) for v in loaded.weights)
    assert sum(np.prod(v.shape) for v in rounded) > 0.9 * numbers
    # Products take the variables as they are.
    graph = loaded.signatures["serving_default"].graph.as_graph_def()
    nodes = [node for function in graph.library.function for node in function.node_def]
    read = {node.name for node in nodes if node.op == "ReadVariableOp"}
    products = [node for node in nodes if node.op == "MatMul"]
    rounded = [n for n in products if n.attr["T"].type == tf.bfloat16.as_datatype_enum]
    assert len(rounded) >= 6
    assert read.issuperset(node.input[1].split(":")[0] for node in rounded)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "family"),
    [
        ("encoder", "albert"),
        ("answerable_questions", "albert"),
        ("classification", "modernbert"),
        answers.at_night("pretraining", "albert"),
        answers.at_night("tagging", "xlnet"),
    ],
)
def test_every_head_in_bfloat16(saved_model, kind, family):
    """The numbers of bfloat16 are nearly those of float32, and all are float32."""
    folder, features, task = saved_model(kind, family), _FEATURES, "auto"
    if kind == "pretraining":
        positions = {"masked_lm_positions": np.int32([[1], [2]])}
        task, features = "masked_lm", {**features, **positions}
    elif family == "xlnet":  # pads on the left
        features = {name: values[:, ::-1] for name, values in features.items()}
    features = {name: tf.constant(values) for name, values in features.items()}
    numbers = {}
    for dtype in ("float32", "bfloat16"):
        module, _, _ = build_module([bundle.open(folder)], task, compute_dtype=dtype)
        numbers[dtype] = module.compute(features)
    for name, expected in numbers["float32"].items():
        found = numbers["bfloat16"][name]
        assert found.dtype == expected.dtype
        if found.dtype == tf.float32:
            scale = max(1, np.abs(expected).max())
            deviation = np.abs(found - expected).max() / scale
            assert 0 < deviation < 0.03, name
            # Beside the last norm's, no output is rounded to eight binary places.
            rounded = tf.cast(tf.cast(found, tf.bfloat16), tf.float32)
            is_norm = name == "sequence_output"
            assert np.array_equal(found, rounded) == is_norm, name
