"""A served XLNet: rows that end with [CLS] and are padded before their tokens."""

import numpy as np
import pytest
import tensorflow as tf

import albert_tf
from albert_tf import bundle
from albert_tf.serving.loading import build_module
from albert_tf.serving.padding import GROUP
from albert_tf.serving.serving_module import OPTIMIZATIONS
from tests.serving.answers import at_night
from tests.serving.answers import example

pytestmark = pytest.mark.slow

_TEXTS = ["good film", "the plot was bad and not very good", "it"]


@pytest.mark.parametrize("optimize_for", [at_night(None), *OPTIMIZATIONS])
def test_padding_does_not_show(opened, optimize_for):
    served = opened("classification", "xlnet")
    rows = [served.tokenizer(text) for text in _TEXTS]
    assert all((row["input_mask"] == 1).all() for row in rows)
    logits = np.concatenate([served.model(row) for row in rows])
    probabilities = tf.nn.softmax(logits).numpy()
    files = bundle.open(served.folder)
    module, _, facts = build_module([files], optimize_for=optimize_for)
    assert facts["row_layout"] == "cls_last"
    signatures = module.signatures()

    def check(outputs, places=slice(None)):
        found = outputs["probabilities"].numpy()
        np.testing.assert_allclose(found, probabilities[places], atol=1e-5)

    # More than are computed together, so that some have less padding than others.
    many = tf.constant([*_TEXTS, *_TEXTS[-1:] * GROUP])
    check(signatures["serving_default"](many), [0, 1, *[2] * (GROUP + 1)])
    check(signatures["serving_default"](tf.constant(_TEXTS[:1])), slice(1))
    tokens = {name: tf.constant(v) for name, v in served.tokenizer(_TEXTS).items()}
    check(signatures["tokens"](**tokens))
    # Examples have no padding of their own; the server adds it.
    lists = [{name: v[0].tolist() for name, v in row.items()} for row in rows]
    serialized = [example(**row) for row in lists]
    check(signatures["examples"](tf.constant(serialized)))
    wrong = {**tokens, "segment_ids": tokens["segment_ids"] + 2}
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be from 0 to 4"):
        signatures["tokens"](**wrong)
    turned = {name: values[:, ::-1] for name, values in tokens.items()}
    with pytest.raises(tf.errors.InvalidArgumentError, match="pad rows on the left"):
        signatures["tokens"](**turned)


def test_the_model_decides_the_layout(opened, vocabulary, tmp_path):
    """An XLNet that was pretrained with a vocabulary of ALBERT's special pieces."""
    (tmp_path / "vocab.txt").write_text(vocabulary(["good", "film", "bad"]))
    tokenizer = albert_tf.load_tokenizer(tmp_path / "vocab.txt")
    model = opened("classification", "xlnet").model
    assert tokenizer("good")["input_ids"][0, 0] == tokenizer.cls_id
    model.save_pretrained(tmp_path / "kept", tokenizer, model.saved_task_info)
    row = albert_tf.load_tokenizer(tmp_path / "kept")("good film")
    assert row["input_ids"][0, -1] == tokenizer.cls_id
    shares = tf.nn.softmax(model(row))[0].numpy()
    answer = albert_tf.Predictor(tmp_path / "kept", tokenizer)("good film")
    found = answer["probabilities"].values()
    np.testing.assert_allclose(list(found), shares, atol=1e-5)
