"""A served XLNet: rows that end with [CLS] and are padded before their tokens."""

import shutil

import numpy as np
import pytest
import tensorflow as tf

import albert_tf
from albert_tf import bundle
from albert_tf.serving.loading import build_module
from albert_tf.serving.padding import GROUP
from albert_tf.serving.serving_module import OPTIMIZATIONS
from tests.serving.answers import example

_TEXTS = ["good film", "the plot was bad and not very good", "it"]
_LABELS = ["no", "so", "yes"]


@pytest.fixture(scope="module")
def folder(xlnet_tokenizer, xlnet_config, tmp_path_factory):
    config = xlnet_config(initializer_range=0.5)
    model = albert_tf.XLNetForSequenceClassification(config, labels=_LABELS)
    path = tmp_path_factory.mktemp("xlnet")
    model.save_pretrained(path, xlnet_tokenizer)
    return path


@pytest.fixture(scope="module")
def expected(folder, xlnet_tokenizer):
    """Features and probabilities of the texts, each by itself."""
    model = albert_tf.XLNetForSequenceClassification.from_pretrained(folder)
    rows = [xlnet_tokenizer(text) for text in _TEXTS]
    assert all((row["input_mask"] == 1).all() for row in rows)
    logits = np.concatenate([model(row) for row in rows])
    return rows, tf.nn.softmax(logits).numpy()


@pytest.mark.slow
@pytest.mark.parametrize(
    "optimize_for", [pytest.param(None, marks=pytest.mark.nightly), *OPTIMIZATIONS]
)
def test_padding_does_not_show(folder, xlnet_tokenizer, expected, optimize_for):
    module, _, facts = build_module([bundle.open(folder)], optimize_for=optimize_for)
    assert (facts["max_seq_length"], facts["row_layout"]) == (512, "cls_last")
    signatures = module.signatures()
    rows, probabilities = expected

    def check(answers, places=slice(None)):
        found = answers["probabilities"].numpy()
        np.testing.assert_allclose(found, probabilities[places], atol=1e-5)

    # More than are computed together, so that some have less padding than others.
    many = tf.constant([*_TEXTS, *_TEXTS[-1:] * GROUP])
    check(signatures["serving_default"](many), [0, 1, *[2] * (GROUP + 1)])
    check(signatures["serving_default"](tf.constant(_TEXTS[:1])), slice(1))
    tokens = {name: tf.constant(v) for name, v in xlnet_tokenizer(_TEXTS).items()}
    check(signatures["tokens"](**tokens))
    # Examples have no padding of their own; the server adds it.
    serialized = [example(**{n: v[0].tolist() for n, v in r.items()}) for r in rows]
    check(signatures["examples"](tf.constant(serialized)))
    wrong = {**tokens, "segment_ids": tokens["segment_ids"] + 2}
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be from 0 to 4"):
        signatures["tokens"](**wrong)
    turned = {name: values[:, ::-1] for name, values in tokens.items()}
    with pytest.raises(tf.errors.InvalidArgumentError, match="pad rows on the left"):
        signatures["tokens"](**turned)


@pytest.mark.slow
def test_the_model_decides_the_layout(folder, vocabulary, tmp_path):
    """An XLNet that was pretrained with a vocabulary of ALBERT's special pieces."""
    model = albert_tf.XLNetForSequenceClassification.from_pretrained(folder)
    (tmp_path / "vocab.txt").write_text(vocabulary(["good", "film", "bad"]))
    tokenizer = albert_tf.load_tokenizer(tmp_path / "vocab.txt")
    assert tokenizer("good")["input_ids"][0, 0] == tokenizer.cls_id
    model.save_pretrained(tmp_path / "kept", tokenizer)
    row = albert_tf.load_tokenizer(tmp_path / "kept")("good film")
    assert row["input_ids"][0, -1] == tokenizer.cls_id
    shares = tf.nn.softmax(model(row))[0].numpy()
    for place in (model, tmp_path / "kept"):
        answer = albert_tf.Predictor(place, tokenizer)("good film")
        found = answer["probabilities"].values()
        np.testing.assert_allclose(list(found), shares, atol=1e-5)


def test_it_answers_as_hugging_face(shared, xlnet_pieces, tmp_path):
    theirs = shared("fixtures/xlnet/hf_classifier")
    for name in ("config.json", "model.safetensors"):
        shutil.copy(theirs / name, tmp_path)
    (tmp_path / "spiece.model").write_bytes(xlnet_pieces("good"))
    module, _, facts = build_module([bundle.open(tmp_path)])
    assert facts["task"]["kind"] == "single_label"
    with np.load(theirs / "inputs.npz") as inputs:
        features = {
            "input_ids": inputs["input_ids"],
            "input_mask": inputs["attention_mask"],
            "segment_ids": inputs["token_type_ids"],
        }
    signature = module.signatures()["tokens"]
    answers = signature(**{n: tf.constant(v, tf.int32) for n, v in features.items()})
    with np.load(theirs / "expected.npz") as arrays:
        expected = arrays["probabilities"]
    np.testing.assert_allclose(answers["probabilities"], expected, atol=1e-5)
