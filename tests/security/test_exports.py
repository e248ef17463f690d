"""A loaded model answers the same, whatever happens to its files afterwards."""

import concurrent.futures
import functools
import itertools
import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import onnx
import pytest

import albert_tf
from albert_tf import bundle
from albert_tf.errors import UserError
from albert_tf.io.whole_folder import ChecksummedFolder
from albert_tf.serving import loading as serving_loading
from albert_tf.serving.predictor import Predictor
from albert_tf.token_files import TokenFile

_TEXTS = ["the film is good", "bad", "a plot", "is the plot bad"]
_ROUNDS = 6  # of the texts, in eight threads


@pytest.fixture(scope="module")
def models(saved_model, opened, tmp_path_factory):
    other = tmp_path_factory.mktemp("other") / "model"
    served = opened("classification")
    for weights in served.model.trainable_variables:
        weights.assign(-weights)
    info = served.model.saved_task_info
    served.model.save_pretrained(other, served.tokenizer, info)
    return saved_model("classification"), other


@pytest.fixture(scope="module")
def model_as(models, export_of, tmp_path_factory):
    @functools.cache
    def make(form):
        if form in ("model_directory", "huggingface"):
            folder, files = tmp_path_factory.mktemp(form), bundle.open(models[0])
            files.model().save_pretrained(folder, files.tokenizer(), format=form)
            return folder
        return export_of("classification", format=form)

    return make


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


def remove(folder, _):
    shutil.rmtree(folder)


def truncate(folder, _):
    for path in files_of(folder):
        os.truncate(path, 0)


_FORMS = ("onnx", "tflite", "saved_model", "model_directory", "huggingface")
_CHANGES = (replace, overwrite, remove, truncate)
# A mapped file would end the process with overwriting and truncating.
_BY_DAY = {*itertools.product(["onnx", "tflite"], [overwrite, truncate])}
_BY_DAY |= {("onnx", replace), ("saved_model", remove), ("model_directory", truncate)}
_CASES = [
    pytest.param(*case, marks=[pytest.mark.nightly] * (case not in _BY_DAY))
    for case in itertools.product(_FORMS, _CHANGES)
]


@pytest.mark.slow
@pytest.mark.filterwarnings(r"ignore:\s*Warning. tf.lite.Interpreter is deprecated")
@pytest.mark.parametrize(("form", "change"), _CASES)
def test_files_that_change_after_loading(form, change, model_as, tmp_path):
    folder, other = (
        pathlib.Path(shutil.copytree(model_as(form), tmp_path / name))
        for name in ("1", "other")
    )
    # Files of the same names and sizes that hold other bytes.
    for path in files_of(other):
        path.write_bytes(path.read_bytes()[::-1])
    predictor = Predictor(folder)

    def answer(text):
        return predictor.arrays([text])["probabilities"][0]

    before = [*map(answer, _TEXTS)]
    assert np.abs(np.diff(before, axis=0)).max() > 1e-3
    change(folder, other)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        found = [*pool.map(answer, _TEXTS * _ROUNDS)]
    np.testing.assert_allclose(found, before * _ROUNDS, rtol=0, atol=1e-6)


_ASKED = ["onnx:float32", "onnx:float16", "tflite:float32", "saved_model:float32"]
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
    "asked", [["onnx:int8"], pytest.param(_ASKED, marks=pytest.mark.nightly)]
)
def test_a_model_has_the_same_bytes_in_every_process(asked, models, tmp_path):
    running = [
        subprocess.Popen(
            [sys.executable, "-c", _EXPORT, models[0], tmp_path / seed, *asked],
            env={**os.environ, "PYTHONHASHSEED": seed},
        )
        for seed in ("1", "77")
    ]
    assert [process.wait() for process in running] == [0, 0]
    first, second = (
        {path.relative_to(folder): path.read_bytes() for path in files_of(folder)}
        for folder in tmp_path.iterdir()
    )
    assert first.keys() == second.keys()
    assert [path for path, data in first.items() if second[path] != data] == []


@pytest.mark.parametrize("name", ["model.onnx", "model.tflite", "model.xml"])
def test_a_file_of_the_wrong_checksum_is_not_opened(name, tmp_path):
    (tmp_path / name).write_bytes(b"damaged")
    (tmp_path / "SHA256SUMS").write_text(f"{'0' * 64}  {name}\n")
    with pytest.raises(UserError, match=f"{name} is damaged: its SHA-256"):
        TokenFile(tmp_path / name)


@pytest.mark.slow
def test_weights_in_other_files_are_refused(model_as, tmp_path, monkeypatch):
    """ONNX Runtime would seek them in the current folder."""
    shutil.copytree(model_as("onnx"), tmp_path / "1")
    (tmp_path / "1" / "SHA256SUMS").unlink()
    path = tmp_path / "1" / "model.onnx"
    model = onnx.load(path)
    path.unlink()
    onnx.save(model, path, save_as_external_data=True, location="w", size_threshold=0)
    monkeypatch.chdir(tmp_path / "1")
    with pytest.raises(UserError, match="x is damaged, or keeps weights in o"):
        Predictor(".")


@pytest.mark.slow
def test_a_folder_that_is_replaced_while_it_is_read(models, tmp_path, monkeypatch):
    """Each file has its checksum, but they belong to two models."""
    own, other = models
    folder = pathlib.Path(shutil.copytree(own, tmp_path / "m"))
    read = bundle.load_model_directory

    def after_replacing(*args, **kwargs):
        replace(folder, other)
        return read(*args, **kwargs)

    monkeypatch.setattr(bundle, "load_model_directory", after_replacing)
    with pytest.raises(UserError, match="m was replaced while it was read; load it a"):
        albert_tf.AlbertForSequenceClassification.from_pretrained(folder)


@pytest.mark.slow
def test_a_version_that_is_replaced_while_it_is_read(model_as, tmp_path, monkeypatch):
    folder, other = (
        pathlib.Path(shutil.copytree(model_as("onnx"), tmp_path / name))
        for name in ("m", "other")
    )
    model = onnx.load(other / "model.onnx")
    model.doc_string = "of another"
    with ChecksummedFolder(other) as files:
        files.write("model.onnx", model.SerializeToString())

    def after_replacing(path):
        replace(folder, other)
        return TokenFile(path)

    monkeypatch.setattr(serving_loading, "TokenFile", after_replacing)
    with pytest.raises(UserError, match="m was replaced while it was read; load it a"):
        Predictor(folder)


def test_a_classifier_learns_on_from_what_it_was_made_of(models, tmp_path):
    """It reads the weights when it learns, the configuration before."""
    own, other = models
    folder = pathlib.Path(shutil.copytree(own, tmp_path / "m"))
    classifier = albert_tf.TextClassifier(folder, labels=["c", "d"])
    replace(folder, other)
    with pytest.raises(UserError, match="m was replaced while it was read; load it a"):
        classifier.fit(["good", "bad"], ["c", "d"], verbose=0)
