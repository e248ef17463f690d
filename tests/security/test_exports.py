"""A loaded model answers the same, whatever happens to its files afterwards."""

import concurrent.futures
import functools
import os
import pathlib
import shutil
import subprocess
import sys
import types

import numpy as np
import onnx
import onnxruntime
import pytest
import tensorflow as tf

import albert_tf
from albert_tf import bundle
from albert_tf.errors import UserError
from albert_tf.serving import loading as serving_loading
from albert_tf.serving.export import ExportOptions
from albert_tf.serving.export import export
from albert_tf.serving.predictor import Predictor
from albert_tf.token_files import TokenFile
from albert_tf.token_files import name_by_place

_PIECES = "[PAD] [UNK] [CLS] [SEP] [MASK] the a film plot is good bad"
_TEXTS = ["the film is good", "bad", "a plot", "is the plot bad"]
_ROUNDS = 6  # of the texts, in eight threads
_FEATURES = {"input_ids": np.ones([1, 3], "int32")}


@pytest.fixture(scope="module")
def forms(tmp_path_factory):
    """Writes two random models in every form; paths by form, of each two folders."""
    folder = tmp_path_factory.mktemp("forms")
    vocabulary = folder / "vocab.txt"
    vocabulary.write_text(_PIECES.replace(" ", "\n") + "\n")
    tokenizer = albert_tf.load_tokenizer(vocabulary)
    sizes = {"hidden_size": 8, "num_attention_heads": 2, "intermediate_size": 8}
    config = albert_tf.AlbertConfig(
        vocab_size=tokenizer.vocab_size,
        embedding_size=4,
        num_hidden_layers=1,
        max_position_embeddings=16,
        initializer_range=0.5,
        **sizes,
    )
    found = {}
    for i in range(2):
        model = albert_tf.AlbertForSequenceClassification(config, labels=["a", "b"])
        for form in ("model_directory", "huggingface", "tf1"):
            directory = folder / form / str(i)
            model.save_pretrained(directory, tokenizer, format=form)
            found.setdefault(form, []).append(directory)
        for form in ("onnx", "saved_model"):
            source, target = str(found["model_directory"][i]), str(folder / form / "m")
            options = ExportOptions(source, target, format=form)
            found.setdefault(form, []).append(export(options))
    return types.SimpleNamespace(paths=found, model=model, tokenizer=tokenizer)


def files_of(folder):
    return [path for path in folder.rglob("*") if path.is_file()]


def replace(folder, other):
    for path in files_of(other):
        target = folder / path.relative_to(other)
        shutil.copy(path, f"{target}.new")
        os.replace(f"{target}.new", target)


def overwrite(folder, other):
    """Keeps the file itself, which may be open or mapped."""
    for path in files_of(other):
        shutil.copyfile(path, folder / path.relative_to(other))


def remove(folder, other):
    shutil.rmtree(folder)


def truncate(folder, other):
    for path in files_of(folder):
        os.truncate(path, 0)


def answers_at_once(answer, inputs):
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        return list(pool.map(answer, inputs * _ROUNDS))


def opened(folder):
    """Returns a function from a text to an array, of what `folder` holds."""
    is_tf1 = (folder / "model.ckpt-best.index").exists()  # which names no labels
    predictor = Predictor(folder, task="embedding" if is_tf1 else "auto")
    name = "embedding" if is_tf1 else "probabilities"
    return lambda text: predictor.arrays([text])[name][0]


@functools.cache
def answers_before(folder):
    return [*map(opened(folder), _TEXTS)]


@pytest.mark.parametrize("change", [replace, overwrite, remove, truncate])
@pytest.mark.parametrize(
    "form",
    [
        "onnx",
        *(
            pytest.param(form, marks=pytest.mark.slow)
            for form in ("saved_model", "model_directory", "huggingface", "tf1")
        ),
    ],
)
def test_files_that_change_after_loading(form, change, forms, tmp_path):
    own, other = forms.paths[form]
    folder = pathlib.Path(shutil.copytree(own, tmp_path / "1"))
    answer = opened(folder)
    change(folder, other)
    found = answers_at_once(answer, _TEXTS)
    expected = answers_before(own) * _ROUNDS
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)


def lite_file(path, factor):
    """Writes a TensorFlow Lite file that multiplies, with weights to map."""
    weights = tf.constant(np.arange(2**16) % 7, tf.float32) * factor

    @tf.function(input_signature=[tf.TensorSpec([1, 3], tf.int32, "input_ids")])
    def compute(input_ids):
        picked = tf.gather(weights, input_ids)
        return {"probabilities": tf.cast(input_ids, tf.float32) * factor + picked}

    module = tf.Module()
    tf.saved_model.save(module, f"{path}.saved", signatures={"tokens": compute})
    converter = tf.lite.TFLiteConverter.from_saved_model(
        f"{path}.saved", signature_keys=["tokens"]
    )
    path.write_bytes(converter.convert())


@pytest.mark.filterwarnings(r"ignore:\s*Warning. tf.lite.Interpreter is deprecated")
@pytest.mark.parametrize("change", [replace, overwrite, remove, truncate])
def test_a_lite_file_that_changes_after_loading(change, tmp_path):
    """A mapped file would end the process with two of these changes."""
    for name, factor in (("own", 2.0), ("other", 3.0)):
        (tmp_path / name).mkdir()
        lite_file(tmp_path / name / "model.tflite", factor)
        shutil.rmtree(tmp_path / name / "model.tflite.saved")
    file = TokenFile(tmp_path / "own" / "model.tflite")
    change(tmp_path / "own", tmp_path / "other")
    for found in answers_at_once(file, [_FEATURES]):
        assert found["probabilities"].tolist() == [[4.0] * 3]


_EXPORT = """
import sys
from albert_tf.serving.export import ExportOptions
from albert_tf.serving.export import export

_, source, target, *forms = sys.argv
for form in forms:
    name, _, dtype = form.partition(":")
    export(ExportOptions(source, f"{target}/{form}", format=name, compute_dtype=dtype))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "asked",
    [
        ["onnx:int8"],
        pytest.param(
            ["onnx:float32", "onnx:float16", "tflite:float32", "saved_model:float32"],
            marks=pytest.mark.nightly,
        ),
    ],
    ids=["one", "all"],
)
def test_a_model_has_the_same_bytes_in_every_process(asked, forms, tmp_path):
    source = str(forms.paths["model_directory"][0])
    running = [
        subprocess.Popen(
            [sys.executable, "-c", _EXPORT, source, str(tmp_path / seed), *asked],
            env={**os.environ, "PYTHONHASHSEED": seed},
        )
        for seed in ("1", "77")
    ]
    assert [process.wait() for process in running] == [0, 0]
    first, second = (
        {path.relative_to(tmp_path / seed): path.read_bytes() for path in files}
        for seed in ("1", "77")
        for files in [files_of(tmp_path / seed)]
    )
    assert first.keys() == second.keys()
    assert [path for path, data in first.items() if second[path] != data] == []


def graph_of(order, name):
    """An ONNX graph with a branch; `name` names its parts, `order` sorts them."""
    make = onnx.helper.make_node
    inner = onnx.helper.make_graph(
        [make("Mul", [name("sum"), name("w")], [name("z")], name("m"))],
        name("g"),
        [],
        [onnx.helper.make_tensor_value_info(name("z"), 1, None)],
        doc_string=name("d"),
    )
    nodes = [
        make("Add", ["x", name("w")], [name("sum")], name=name("a")),
        make("If", ["c"], [name("y")], name("i"), then_branch=inner, else_branch=inner),
        make("Sub", [name("y"), name("v")], ["out"], name=name("s")),
    ]
    weights = [
        onnx.numpy_helper.from_array(np.full(2, value, "float32"), name(key))
        for value, key in enumerate("wv")
    ]
    value = onnx.helper.make_tensor_value_info
    inputs = [value("x", 1, [2]), value("c", 9, [])]
    outputs = [value("out", 1, [2])]
    return onnx.helper.make_graph(order(nodes), "g", inputs, outputs, order(weights))


def test_parts_are_named_by_their_place():
    found = []
    for order, sign in ((list, "a"), (lambda parts: parts[::-1], "b")):
        graph = graph_of(order, lambda key, sign=sign: f"{sign}_{key}")
        name_by_place(graph)
        found.append(graph.SerializeToString(deterministic=True))
    assert found[0] == found[1]
    model = onnx.helper.make_model(
        graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8
    )
    onnx.checker.check_model(model)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    x = np.float32([3, 4])
    (answer,) = session.run(None, {"x": x, "c": np.array(True)})
    assert answer.tolist() == [-1, -1]  # (x + 0) * 0 - 1


@pytest.mark.parametrize("name", ["model.onnx", "model.tflite"])
def test_a_file_of_the_wrong_checksum_is_not_opened(name, tmp_path):
    (tmp_path / name).write_bytes(b"damaged")
    (tmp_path / "SHA256SUMS").write_text(f"{'0' * 64}  {name}\n")
    with pytest.raises(UserError, match=f"{name} is damaged: its SHA-256"):
        TokenFile(tmp_path / name)


def test_weights_in_other_files_are_refused(forms, tmp_path, monkeypatch):
    """ONNX Runtime would seek them in the current folder."""
    shutil.copytree(forms.paths["onnx"][0], tmp_path / "1")
    (tmp_path / "1" / "SHA256SUMS").unlink()
    path = tmp_path / "1" / "model.onnx"
    model = onnx.load(path)
    path.unlink()
    onnx.save(model, path, save_as_external_data=True, location="w", size_threshold=0)
    monkeypatch.chdir(tmp_path / "1")
    with pytest.raises(UserError, match="x is damaged, or keeps weights in o"):
        Predictor(".")


def test_a_folder_that_is_replaced_while_it_is_read(forms, tmp_path, monkeypatch):
    """Each file has its checksum, but they belong to two models."""
    own, other = forms.paths["model_directory"]
    folder = pathlib.Path(shutil.copytree(own, tmp_path / "m"))
    read = bundle.load_model_directory

    def after_replacing(*args, **kwargs):
        replace(folder, other)
        return read(*args, **kwargs)

    monkeypatch.setattr(bundle, "load_model_directory", after_replacing)
    with pytest.raises(UserError, match="m was replaced while it was read; load it a"):
        albert_tf.AlbertForSequenceClassification.from_pretrained(folder)


def test_a_version_that_is_replaced_while_it_is_read(forms, tmp_path, monkeypatch):
    own, other = forms.paths["onnx"]
    folder = pathlib.Path(shutil.copytree(own, tmp_path / "m"))

    def after_replacing(path):
        replace(folder, other)
        return TokenFile(path)

    monkeypatch.setattr(serving_loading, "TokenFile", after_replacing)
    with pytest.raises(UserError, match="m was replaced while it was read; load it a"):
        Predictor(folder)


def test_a_classifier_learns_on_from_what_it_was_made_of(forms, tmp_path):
    """It reads the weights when it learns, the configuration before."""
    own, other = forms.paths["model_directory"]
    folder = pathlib.Path(shutil.copytree(own, tmp_path / "m"))
    classifier = albert_tf.TextClassifier(folder, labels=["c", "d"])
    replace(folder, other)
    with pytest.raises(UserError, match="m was replaced while it was read; load it a"):
        classifier.fit(["good", "bad"], ["c", "d"], verbose=0)
