"""ONNX files that take strings, cut by onnxruntime-extensions."""

import importlib.util
import json

import numpy as np
import onnxruntime
import pytest

from albert_tf.errors import UserError
from albert_tf.serving.export import ExportOptions
from albert_tf.serving.export import export
from albert_tf.serving.predictor import Predictor
from albert_tf.token_files.operations import operations_library
from tests.serving.answers import assert_same
from tests.tokenization.test_their_files import HOSTILE

# What the operations read otherwise: U+0000, a last sigma, long runs of a letter.
_TEXTS = [text for text in HOSTILE if "\u03a3" not in text and "aaaaaaaa" not in text]
_TEXTS += ["it is a good film , not bad", "\xa8 a\xa8b \u1112\u1161\u11ab \u09c7\u09be"]


@pytest.mark.slow
@pytest.mark.skipif(
    importlib.util.find_spec("onnxruntime_extensions") is None,
    reason="onnxruntime-extensions is not installed",
)
@pytest.mark.parametrize(
    ("kind", "family"),
    [
        ("pairs", "xlnet"),
        ("classification", "roberta"),
        pytest.param("pairs", "roberta", marks=pytest.mark.nightly),
        pytest.param("similarity", "xlm-roberta", marks=pytest.mark.nightly),
    ],
)
def test_strings_are_answered_as_by_the_model(kind, family, saved_model, export_of):
    version = export_of(kind, family, format="onnx", text_in=True)
    texts = [[*_TEXTS, "a bad film " * 20]] * (2 if kind == "pairs" else 1)
    texts[1:] = [text[::-1] for text in texts[1:]]
    expected = Predictor(saved_model(kind, family)).arrays(*texts)
    assert_same(Predictor(version).arrays(*texts), expected)
    options = onnxruntime.SessionOptions()
    options.register_custom_ops_library(operations_library())
    session = onnxruntime.InferenceSession(version / "model.onnx", options)
    names = [value.name for value in session.get_inputs()]
    given = dict(zip(names, (np.array(text, object) for text in texts), strict=True))
    (name,) = (value.name for value in session.get_outputs())
    np.testing.assert_allclose(session.run(None, given)[0], expected[name], atol=1e-5)
    described = json.loads((version / "signature.json").read_text())
    assert described["inputs"] == names == ["text", "text_pair"][: len(texts)]
    assert described["cut_otherwise"]


@pytest.mark.parametrize(
    ("kind", "family", "options", "message"),
    [
        ("classification", "albert", {}, "cuts words of unknown characters otherwise"),
        ("classification", "modernbert", {}, "has no ModernBERT's tokenizer"),
        ("tagging", "xlnet", {}, "a row of tokens is not all that tagging needs"),
        ("pairs", "xlnet", {"format": "tflite"}, "--text_in is for --format=onnx"),
        ("pairs", "xlnet", {"input_names": "huggingface"}, "without --input_names"),
    ],
)
def test_what_is_refused(kind, family, options, message, saved_model, tmp_path):
    options = {"format": "onnx", "text_in": True, **options}
    with pytest.raises(UserError, match=message):
        export(ExportOptions(str(saved_model(kind, family)), str(tmp_path), **options))
    assert not [*tmp_path.iterdir()]
