"""What was loaded answers the same, whatever happens to its files afterwards."""

import concurrent.futures
import functools
import os
import pathlib
import shutil
import types

import numpy as np
import onnx
import pytest
import tensorflow as tf

import albert_tf
from albert_tf.errors import UserError
from albert_tf.serving.export import ExportOptions
from albert_tf.serving.export import export
from albert_tf.serving.predictor import Predictor
from albert_tf.token_files import TokenFile

_PIECES = "[PAD] [UNK] [CLS] [SEP] [MASK] the a film plot is good bad"
_TEXTS = ["the film is good", "bad", "a plot", "is the plot bad"]
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
        return list(pool.map(answer, inputs * 60))


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
    expected = answers_before(own) * 60
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
    """Where it is mapped, the process dies of the last two changes."""
    for name, factor in (("own", 2.0), ("other", 3.0)):
        (tmp_path / name).mkdir()
        lite_file(tmp_path / name / "model.tflite", factor)
        shutil.rmtree(tmp_path / name / "model.tflite.saved")
    file = TokenFile(tmp_path / "own" / "model.tflite")
    change(tmp_path / "own", tmp_path / "other")
    for found in answers_at_once(file, [_FEATURES]):
        assert found["probabilities"].tolist() == [[4.0] * 3]


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
    with pytest.raises(UserError, match=r"model.onnx is damaged, or keeps weights in o"):
        Predictor(".")
