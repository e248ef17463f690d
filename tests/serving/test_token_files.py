"""Files of other runtimes: the same answers from tokens, or from strings."""

import concurrent.futures
import contextlib
import importlib.util
import itertools
import os
import sys
import threading
import types
import weakref
from unittest import mock

import numpy as np
import onnx
import onnxruntime
import pytest
import tensorflow as tf
import tokenizers

from albert_tf import token_files
from albert_tf.errors import UserError
from albert_tf.row_layout import FEATURES
from albert_tf.serving.predictor import Predictor
from albert_tf.token_files import WRITERS
from albert_tf.token_files import TokenFile
from albert_tf.token_files import check_token_file
from albert_tf.token_files import operations
from albert_tf.token_files import text_in
from albert_tf.token_files import write_onnx
from albert_tf.token_files.input_names import rename_inputs
from albert_tf.token_files.operations import operations_library
from albert_tf.tokenization.added_tokens import AddedToken
from albert_tf.tokenization.sentencepiece import SentencePieceTokenizer
from albert_tf.tokenization.tokenizer import TextRules
from tests.serving import answers
from tests.serving.answers import TEXTS
from tests.tokenization.test_their_files import HOSTILE
from tests.vocabularies import tie_pieces

# What the operations read otherwise: U+0000, a last sigma, long runs of a letter.
_TEXTS = [text for text in HOSTILE if "\u03a3" not in text and "aaaaaaaa" not in text]
_TEXTS += ["it is a good film , not bad", "\xa8 a\xa8b \u1112\u1161\u11ab \u09c7\u09be"]


def check_tokens(served, version, file_name, tolerance):
    ids = [2, *served.tokenizer.encode("it is not a bad plot ."), 3]
    features = {"input_ids": np.array([ids, ids[:4] + [0] * (len(ids) - 4)], "int32")}
    features["input_mask"] = (features["input_ids"] > 0).astype("int32")
    features["segment_ids"] = np.zeros_like(features["input_ids"])
    expected = answers.signature(served.version, "tokens")
    expected = expected(**{k: tf.constant(v) for k, v in features.items()})
    numbers = TokenFile(version / file_name)(features)
    assert list(numbers) == ["probabilities"]
    deviation = np.abs(numbers["probabilities"] - expected["probabilities"]).max()
    assert deviation < tolerance
    assert (version / "vocab.txt").exists()
    theirs = tokenizers.Tokenizer.from_file(str(version / "tokenizer.json"))
    assert theirs.encode("it is not a bad plot .").ids == ids
    return answers.described(version)


@pytest.mark.slow
@pytest.mark.filterwarnings(r"ignore:\s*Warning. tf.lite.Interpreter is deprecated")
def test_tflite(export_of, classifier, tmp_path):
    eval_file = answers.labelled_file(tmp_path / "dev.tsv")
    version = export_of("classification", format="tflite", eval_file=eval_file)
    facts = check_tokens(classifier, version, "model.tflite", 0.05)
    assert set(facts["eval"]["accuracy"]) == {"original", "tflite"}
    interpreter = tf.lite.Interpreter(str(version / "model.tflite"))
    kinds = {d["dtype"] for d in interpreter.get_tensor_details()}
    assert np.int8 in kinds


@pytest.mark.slow
def test_onnx(export_of, classifier):
    version = export_of("classification", format="onnx")
    facts = check_tokens(classifier, version, "model.onnx", 1e-5)
    assert facts["opened_with"].startswith("onnxruntime ")
    assert facts["distance"] < 1e-5
    found, expected = (Predictor(v) for v in (version.parent, classifier.version))
    answers.assert_same(found.arrays(TEXTS), expected.arrays(TEXTS))
    response = facts["signatures"]["serving_default"]["rest"]["response"]
    assert response["outputs"]["label"][0] in ("no", "yes")
    assert "opened with: onnxruntime " in (version / "model_card.md").read_text()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "family", "segments"),
    [
        ("pairs", "albert", True),
        ("classification", "roberta", False),
        answers.at_night("pairs", "roberta", False),
    ],
)
def test_inputs_of_hugging_face(kind, family, segments, opened, export_of):
    """A client of their files gives what their tokenizer makes, as int64."""
    options = {"format": "onnx", "input_names": "huggingface"}
    version = export_of(kind, family, **options)
    theirs = tokenizers.Tokenizer.from_file(str(version / "tokenizer.json"))
    theirs.enable_padding()
    columns = [["it is good", "not"], ["a bad plot", "the film was bad"]]
    columns = columns if kind == "pairs" else columns[:1]
    given = [*zip(*columns, strict=True)] if kind == "pairs" else columns[0]
    rows = theirs.encode_batch(given)
    features = {
        "input_ids": [row.ids for row in rows],
        "attention_mask": [row.attention_mask for row in rows],
        **({"token_type_ids": [row.type_ids for row in rows]} if segments else {}),
    }
    session = onnxruntime.InferenceSession(version / "model.onnx")
    assert [value.name for value in session.get_inputs()] == [*features]
    features = {name: np.array(rows, "int64") for name, rows in features.items()}
    (found,) = session.run(["probabilities"], features)
    own = opened(kind, family)
    expected = tf.nn.softmax(own.model(own.tokenizer(*columns, padding=True)))
    np.testing.assert_allclose(found, expected, atol=1e-5)
    np.testing.assert_allclose(answers.shares(version, *columns), expected, atol=1e-5)
    assert answers.described(version)["inputs"] == [*features]


def test_inputs_that_branches_read(tmp_path):
    """The answer is the ids if there is a second segment, else the mask."""
    make, kinds = onnx.helper, onnx.TensorProto

    def branch(name):
        node = make.make_node("Identity", [name], [f"of_{name}"])
        output = make.make_tensor_value_info(f"of_{name}", kinds.INT32, [1, 2])
        return make.make_graph([node], name, [], [output])

    branches = {"then_branch": branch("input_ids"), "else_branch": branch("input_mask")}
    nodes = [
        make.make_node("ReduceMax", ["segment_ids"], ["last"], keepdims=0),
        make.make_node("Cast", ["last"], ["is_second"], to=kinds.BOOL),
        make.make_node("If", ["is_second"], ["answer"], **branches),
    ]
    *inputs, output = (
        make.make_tensor_value_info(name, kinds.INT32, [1, 2])
        for name in (*FEATURES, "answer")
    )
    graph = make.make_graph(nodes, "branches", inputs, [output])
    versions = {"opset_imports": [make.make_opsetid("", 17)], "ir_version": 8}
    onnx.save(make.make_model(graph, **versions), tmp_path / "x.onnx")
    names = ["input_ids", "attention_mask", "token_type_ids"]
    assert rename_inputs(tmp_path / "x.onnx", has_segments=True) == names
    session = onnxruntime.InferenceSession(tmp_path / "x.onnx")
    for last, expected in ((0, [1, 0]), (1, [7, 8])):
        rows = ([7, 8], [1, 0], [0, last])
        features = {n: np.int64([row]) for n, row in zip(names, rows, strict=True)}
        assert session.run(None, features)[0].tolist() == [expected]


@pytest.mark.slow
@pytest.mark.skipif(
    importlib.util.find_spec("onnxruntime_extensions") is None,
    reason="onnxruntime-extensions is not installed",
)
@pytest.mark.parametrize(
    ("kind", "family"),
    [
        ("classification", "roberta"),
        ("pairs", "xlnet"),
        answers.at_night("pairs", "roberta"),
        answers.at_night("similarity", "xlm-roberta"),
    ],
)
def test_strings_are_answered_as_by_the_model(kind, family, saved_model, export_of):
    version = export_of(kind, family, format="onnx", text_in=True)
    texts = [[*_TEXTS, "a bad film " * 20]] * (2 if kind == "pairs" else 1)
    texts[1:] = [text[::-1] for text in texts[1:]]
    expected = Predictor(saved_model(kind, family)).arrays(*texts)
    answers.assert_same(Predictor(version).arrays(*texts), expected)
    options = onnxruntime.SessionOptions()
    options.register_custom_ops_library(operations_library())
    session = onnxruntime.InferenceSession(version / "model.onnx", options)
    names = [value.name for value in session.get_inputs()]
    given = dict(zip(names, (np.array(text, object) for text in texts), strict=True))
    (name,) = (value.name for value in session.get_outputs())
    np.testing.assert_allclose(session.run(None, given)[0], expected[name], atol=1e-5)
    facts = answers.described(version)
    assert facts["inputs"] == names == ["text", "text_pair"][: len(texts)]
    assert facts["cut_otherwise"]


_INT8 = {"format": "onnx", "compute_dtype": "int8"}


def other_answers(module, served, directory):
    """Writes the ONNX file of a model whose answers are a little larger."""

    class Other:
        def float32_numbers(self, features):
            return {k: v * 1.1 for k, v in module.float32_numbers(features).items()}

    return write_onnx(Other(), served, directory)


def no_file(directory):
    path = directory / "model.onnx"
    path.write_bytes(b"nothing")
    return path


@pytest.mark.slow
def test_a_file_that_answers_otherwise_is_refused(saved_model, tmp_path, monkeypatch):
    """No rounding hides another function: it is refused before it is rounded."""
    monkeypatch.setitem(WRITERS, "onnx", other_answers)
    target, folder = tmp_path / "m", saved_model("classification")
    with pytest.raises(UserError, match="answers otherwise .* 0.0[3-9][0-9]* of"):
        answers.exported(folder, target, **_INT8)
    assert not list(target.rglob("model.onnx"))


@pytest.mark.slow
def test_a_file_is_open_once_at_a_time(saved_model, tmp_path, monkeypatch):
    opened, count = weakref.WeakSet(), itertools.count()

    class Session(onnxruntime.InferenceSession):
        def __init__(self, *inputs):
            assert not opened
            opened.add(self)
            next(count)
            super().__init__(*inputs)

    monkeypatch.setattr(onnxruntime, "InferenceSession", Session)
    answers.exported(saved_model("classification"), tmp_path / "m", **_INT8)
    assert next(count) == 2  # in float32, and in int8


@pytest.mark.slow
def test_a_file_without_its_runtime_is_written_unopened(
    saved_model, tmp_path, monkeypatch
):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    folder = saved_model("classification")
    version = answers.exported(folder, tmp_path / "m", format="onnx")
    facts = answers.described(version)
    assert (facts["file"], facts["signatures"]) == ("model.onnx", {})
    assert "opened_with" not in facts


def test_the_distance_of_answers():
    expected = {
        "a": tf.constant([3.0, 4.0, -1e9]),  # the last one is masked
        "b": tf.constant([1.0]),
        "ranks": tf.constant([1, 2]),
    }
    arrays = {name: tensor.numpy() for name, tensor in expected.items()}
    other = np.float32([3, 4.6, 7])
    for changes, distance in (
        ({}, 0),
        ({"a": other}, 0.1),
        ({"a": other, "b": np.float32([1.1])}, 0.1),
        ({"a": other, "b": np.float32([0.6])}, 0.2),
        ({"ranks": np.int32([2, 1])}, 0),
        ({"b": np.float32([1, 1])}, np.inf),
        ({"c": other}, np.inf),
    ):
        found = token_files._distance({**arrays, **changes}, expected)
        assert found == pytest.approx(distance)
    assert np.isnan(token_files._distance({**arrays, "a": other * np.nan}, expected))


@pytest.mark.parametrize(
    ("dtype", "most"), [("float32", 0.01), ("float16", 0.05), ("int8", 0.4)]
)
def test_how_far_answers_may_be_apart(dtype, most, tmp_path, monkeypatch):
    path, expected = tmp_path / "model.onnx", {"a": tf.constant([0.0])}
    for distance in (most, most * 1.001, np.nan):
        path.write_bytes(b"")
        answer = {"a": np.array([distance])}
        file = mock.Mock(return_value=answer, runtime="x 1")
        monkeypatch.setattr(token_files, "TokenFile", mock.Mock(return_value=file))
        if distance == most:
            facts = {"distance": most, "largest_distance": most}
            found = check_token_file(path, {}, expected, dtype)
            assert found == (file, {"opened_with": "x 1", **facts})
            continue
        message = f"model.onnx was removed, because x 1 answers .* {distance:.2g} of"
        with pytest.raises(UserError, match=message):
            check_token_file(path, {}, expected, dtype)
        assert not path.exists()


def test_what_no_operation_follows(monkeypatch):
    monkeypatch.setattr(text_in, "operations_library", lambda: None)
    own = {"features": FEATURES, "reads_whole": False, "text_lists": (), "along": ()}
    pieces, words = tie_pieces(), types.SimpleNamespace(kind="wordpiece")
    roberta, modern = (
        types.SimpleNamespace(
            kind="byte_bpe", model_type=name, added=None, special_pieces={}
        )
        for name in ("RoBERTa", "ModernBERT")
    )
    plain = SentencePieceTokenizer(pieces)
    added = plain.with_added([AddedToken("b", plain.vocab_size)])
    lowered, cased = (
        SentencePieceTokenizer(pieces, lowers, rules=TextRules(keep_accents=True))
        for lowers in (True, False)
    )
    for tokenizer, has_prompt, reason in (
        (plain, False, None),
        (plain.with_added([AddedToken("[MASK]", plain.mask_id)]), False, None),
        (
            added,
            False,
            "onnxruntime-extensions does not look for its added tokens; leave",
        ),
        (cased, False, None),
        (lowered, False, "its tokenizer lowers letters and keeps accents; leave"),
        (plain, True, "the model puts a prompt before texts; leave it out"),
        (words, False, "cuts words of unknown characters otherwise; leave it out"),
        (modern, False, "onnxruntime-extensions has no ModernBERT's tokenizer; leave"),
        (roberta, False, None),
    ):
        task = types.SimpleNamespace(**own)
        served = types.SimpleNamespace(task=task, tokenizer=tokenizer)
        features = types.SimpleNamespace(has_prompt=has_prompt)
        refused = pytest.raises(UserError, match=reason) if reason else None
        with refused or contextlib.nullcontext():
            text_in.check_text_in(served, features)
    served = types.SimpleNamespace(tokenizer=plain)
    for name, value in (
        ("features", FEATURES[:2]),
        ("reads_whole", True),
        ("text_lists", ("a",)),
        ("along", ("a",)),
    ):
        served.task = types.SimpleNamespace(**{**own, name: value}, serves="x")
        with pytest.raises(UserError, match="a row of tokens is not all that x needs;"):
            text_in.check_text_in(served, types.SimpleNamespace(has_prompt=False))
    monkeypatch.setattr(text_in, "self_preparing", lambda tokenizer: b"")
    theirs = SentencePieceTokenizer(pieces, True, rules=TextRules(as_tokenizers=True))
    for tokenizer, differs in ((lowered, True), (cased, False), (theirs, False)):
        unlike = text_in._sentencepiece(tokenizer, None).unlike
        assert ("a capital sigma at the end of a word" in unlike) is differs


def test_operations_are_loaded_before_others_load_them(monkeypatch):
    monkeypatch.setattr(operations, "_loaded", [])
    monkeypatch.setitem(sys.modules, "onnxruntime_extensions", types.ModuleType("x"))
    with pytest.raises(UserError, match="_extensions was imported before albert_tf op"):
        operations_library()


def test_a_wrong_file_is_removed_where_its_runtime_is_installed(
    tmp_path, monkeypatch, caplog
):
    path = no_file(tmp_path)
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "onnxruntime", None)
        assert check_token_file(path, {}, {}) == (None, {})
    assert "model.onnx was not opened. " in caplog.text
    assert "pip install 'albert-tf[onnx]'" in caplog.text
    with pytest.raises(UserError, match="does not run: .*PROTOBUF"):
        check_token_file(path, {}, {})
    assert not path.exists()


@pytest.mark.parametrize(("cores", "threads"), [(4, 0), (3, 3)])
def test_calls_at_the_same_time_take_a_core_each(cores, threads, tmp_path, monkeypatch):
    """One alone takes those of the process; 0 threads are the whole machine's."""
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    monkeypatch.setattr(token_files, "available_cores", lambda: cores)
    used, both = [], threading.Barrier(2)

    class Session:
        def __init__(self, content, options):
            self.threads = options.intra_op_num_threads

        def get_outputs(self):
            return [types.SimpleNamespace(name="a", shape=[2], type="tensor(float)")]

        def get_inputs(self):
            return []

        def run(self, names, features):
            both.wait(timeout=30)
            used.append(self.threads)
            return [np.zeros(2, "float32")]

    monkeypatch.setattr(onnxruntime, "InferenceSession", Session)
    file = TokenFile(no_file(tmp_path))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(file, [{"input_ids": [[1]]}] * 2))
    assert sorted(used) == sorted([threads, 1])
    both = threading.Barrier(1)
    file({"input_ids": [[1]]})
    assert used[2:] == [threads]
