"""The served answers equal the Python path's, whatever the text."""

import dataclasses
import json

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

from albert_tf.models.pretraining import AlbertForPreTraining
from albert_tf.serving.export import ExportOptions
from albert_tf.serving.export import export
from albert_tf.serving.predictor import Predictor
from albert_tf.tasks.batching import evaluation_dataset
from albert_tf.tasks.prediction import OutputsPredictor
from albert_tf.tasks.registry import create_task
from albert_tf.tasks.tokenized_examples import tokenize_texts
from albert_tf.tokenization import load_tokenizer
from tests.serving.answers import example

_TEXTS = [
    "the film was very good .",
    "",
    "   ",
    "good",
    "it is not a bad plot, and not a good one. " * 40,
    b"bad \xff\xfe film \xc3",
    "films plotting über 电影 \u2028 \U0001f600",
]


def _decoded(values):
    values = [v if isinstance(v, bytes) else v.encode() for v in values]
    return [v.decode("utf-8", "replace") for v in values]


def _python_path(served, texts, pairs=None):
    """Probabilities by the tokenizer and the model, no graph of serving involved."""
    examples = tokenize_texts(
        _decoded(texts),
        None if pairs is None else _decoded(pairs),
        served.tokenizer,
        served.length,
    )
    logits = OutputsPredictor(served.model, 16, served.length)(examples)
    return served.task.probabilities(logits)


@pytest.mark.slow
def test_classification_of_strings(classifier):
    texts = _TEXTS * 15
    answers = Predictor(classifier.export_dir).arrays(texts)
    expected = _python_path(classifier, texts)
    np.testing.assert_allclose(answers["probabilities"], expected, atol=1e-5)
    labels = answers["label"].tolist()
    assert labels == [classifier.task.labels[i] for i in expected.argmax(axis=1)]


@pytest.mark.slow
def test_pairs_are_truncated_as_in_training(pair_classifier):
    words = np.random.default_rng(0).choice(["good", "bad", "film"], (12, 40))
    texts = [" ".join(row[: 3 * i]) for i, row in enumerate(words)]
    pairs = [" ".join(row[: 40 - 3 * i]) for i, row in enumerate(words)]
    answers = Predictor(pair_classifier.export_dir).arrays(texts, pairs)
    expected = _python_path(pair_classifier, texts, pairs)
    np.testing.assert_allclose(answers["probabilities"], expected, atol=1e-5)


def test_the_model_is_in_the_file_once(classifier):
    with (classifier.version / "saved_model.pb").open("rb") as file:
        saved = saved_model_pb2.SavedModel.FromString(file.read())
    functions = saved.meta_graphs[0].graph_def.library.function
    with_products = [f for f in functions if any(n.op == "MatMul" for n in f.node_def)]
    assert len(with_products) == 1


@pytest.mark.slow
def test_three_signatures_give_the_same_answer(pair_classifier):
    served = pair_classifier
    signatures = tf.saved_model.load(str(served.version)).signatures
    texts, pairs = ["a good film", "bad"], ["it was", "the plot was not good"]
    answer = signatures["serving_default"](
        text=tf.constant(texts), text_pair=tf.constant(pairs)
    )
    examples = tokenize_texts(texts, pairs, served.tokenizer, served.length)
    batch = next(iter(evaluation_dataset(examples, 2, served.length)))
    from_tokens = signatures["tokens"](**batch)
    serialized = [_example(batch, row) for row in range(2)]
    from_examples = signatures["examples"](examples=tf.constant(serialized))
    for other in (from_tokens, from_examples):
        assert set(other) == {"probabilities", "label"}
        np.testing.assert_allclose(
            other["probabilities"], answer["probabilities"], atol=1e-5
        )


def test_examples_may_leave_mask_and_segments_out(classifier):
    signatures = tf.saved_model.load(str(classifier.version)).signatures
    batch = {"input_ids": tf.constant([[2, 7, 11, 3, 0], [2, 12, 6, 12, 3]])}
    lengths = (4, 5)
    serialized = [
        _example({"input_ids": batch["input_ids"][:, : lengths[row]]}, row)
        for row in range(2)
    ]
    mask = tf.sequence_mask(lengths, 5, tf.int32)
    expected = signatures["tokens"](
        **batch, input_mask=mask, segment_ids=tf.zeros_like(mask)
    )
    answer = signatures["examples"](examples=tf.constant(serialized))
    np.testing.assert_allclose(
        answer["probabilities"], expected["probabilities"], atol=1e-5
    )


def _example(batch, row):
    return example(**{name: v[row].numpy().tolist() for name, v in batch.items()})


@pytest.mark.slow
def test_regression(exported, tiny_tokenizer):
    served = exported(tiny_tokenizer, create_task("regression", "t"))
    answers = Predictor(served.export_dir).arrays(_TEXTS)
    expected = _python_path(served, _TEXTS)[:, 0]
    np.testing.assert_allclose(answers["score"], expected, atol=1e-5)
    answer = Predictor(served.model_dir)(_TEXTS[0])
    assert answer == {"score": pytest.approx(expected[0], abs=1e-5)}


@pytest.mark.slow
def test_multi_label(exported, tiny_tokenizer):
    labels = ("好", "坏", "plain")
    task = create_task("multi_label", "t", labels=labels)
    served = exported(tiny_tokenizer, task)
    predictor = Predictor(served.export_dir)
    answers = predictor.arrays(_TEXTS)
    expected = _python_path(served, _TEXTS)
    np.testing.assert_allclose(answers["probabilities"], expected, atol=1e-5)
    names = np.where(expected > 0.5, labels, "")
    np.testing.assert_array_equal(answers["labels"], names)
    answer = predictor(_TEXTS[0])
    assert answer["labels"] == [name for name in names[0] if name]
    assert tuple(answer["probabilities"]) == labels


@pytest.mark.slow
def test_encoder(encoder):
    answers = Predictor(encoder.export_dir).arrays(_TEXTS, batch_size=3)
    decoded = [
        t if isinstance(t, str) else t.decode("utf-8", "replace") for t in _TEXTS
    ]
    examples = tokenize_texts(decoded, None, encoder.tokenizer, encoder.length)
    batch = next(iter(evaluation_dataset(examples, 16, encoder.length, True)))
    width = answers["input_ids"].shape[1]
    np.testing.assert_array_equal(answers["input_ids"], batch["input_ids"][:, :width])
    np.testing.assert_array_equal(answers["input_mask"], batch["input_mask"][:, :width])
    expected = encoder.model(batch)
    pooled, mask = expected["pooled_output"], answers["input_mask"][:, :, None]
    np.testing.assert_allclose(answers["pooled_output"], pooled, atol=1e-5)
    np.testing.assert_allclose(
        answers["sequence_output"] * mask,
        expected["sequence_output"][:, :width] * mask,
        atol=1e-5,
    )


@pytest.mark.slow
def test_masked_lm(masked_lm):
    texts = ["the [MASK] was [MASK]", "good", "a [MASK]film"]
    answers = Predictor(masked_lm.export_dir).arrays(texts)
    positions = [[2, 4], [0, 0], [2, 0]]
    np.testing.assert_array_equal(answers["masked_lm_positions"], positions)
    tokenizer = masked_lm.tokenizer
    mask, (the, was) = tokenizer.mask_id, tokenizer.encode("the was")
    ids = [[tokenizer.cls_id, the, mask, was, mask, tokenizer.sep_id]]
    logits = masked_lm.model(
        {"input_ids": tf.constant(ids), "masked_lm_positions": tf.constant([[2, 4]])}
    )["masked_lm_logits"]
    expected = np.sort(tf.nn.softmax(logits).numpy()[0])[:, ::-1][:, :5]
    np.testing.assert_allclose(answers["probabilities"][0], expected, atol=1e-5)
    best = np.argmax(logits[0], axis=-1)
    assert [t[0] for t in answers["tokens"][0]] == [tokenizer.pieces[i] for i in best]
    assert set(answers["tokens"][1].ravel()) == {""}
    assert answers["probabilities"][2, 1].tolist() == [0.0] * 5


def _golden_texts(shared, golden, corpus):
    """The golden tokenization texts, and lines of a corpus."""
    lines = shared(f"fixtures/tokenization/{golden}").read_text().splitlines()
    texts = [json.loads(line)["text"] for line in lines]
    for path in sorted(shared(f"data/{corpus}").glob("*.txt")):
        texts += path.read_text(encoding="utf-8").split("\n")[:1000]
    assert len(texts) > 1000
    return texts


@pytest.mark.slow
@pytest.mark.parametrize(
    ("vocabulary", "golden", "corpus"),
    [
        (
            "albert_en_30k/30k-clean.model",
            "sentencepiece_30k.jsonl",
            "text_en/wikipedia_squad",
        ),
        pytest.param(
            "bert_chinese/vocab.txt",
            "wordpiece_chinese.jsonl",
            "text_zh/classics",
            marks=pytest.mark.nightly,
        ),
    ],
)
def test_golden_texts_and_corpora(exported, shared, vocabulary, golden, corpus):
    """Ids and probabilities with the vocabularies of the released models."""
    tokenizer = load_tokenizer(shared(f"data/vocab/{vocabulary}"))
    texts = _golden_texts(shared, golden, corpus)
    served = exported(tokenizer, create_task("single_label", "t", labels=("no", "yes")))
    answers = Predictor(served.export_dir).arrays(texts, batch_size=100)
    expected = _python_path(served, texts)
    np.testing.assert_allclose(answers["probabilities"], expected, atol=1e-5)
    # As an encoder it shows the ids; what follows the ids in a graph is tested above.
    encoder = Predictor(served.model_dir, task="encoder")
    ids = encoder.arrays(texts, batch_size=100)["input_ids"]
    examples = tokenize_texts(texts, None, tokenizer, served.length)
    rows = np.split(examples.ids, examples.starts[1:])
    assert [row[row > 0].tolist() for row in ids] == [row.tolist() for row in rows]


@pytest.mark.nightly
@pytest.mark.slow
def test_masked_lm_on_golden_texts(exported, shared):
    tokenizer = load_tokenizer(shared("data/vocab/albert_en_30k/30k-clean.model"))
    texts = _golden_texts(shared, "sentencepiece_30k.jsonl", "text_en/wikipedia_squad")
    texts = [text for text in texts if "[MASK]" not in text]
    served = exported(tokenizer, serve="masked_lm")
    answers = Predictor(served.export_dir).arrays(
        [f"[MASK] {text}" for text in texts], batch_size=100
    )
    assert (answers["masked_lm_positions"] == [[1]]).all()
    ids = np.zeros([len(texts), served.length], "int32")
    for row, text in zip(ids, texts, strict=True):
        kept = tokenizer.encode(text)[: served.length - 3]
        whole = [tokenizer.cls_id, tokenizer.mask_id, *kept, tokenizer.sep_id]
        row[: len(whole)] = whole
    features = {
        "input_ids": ids,
        "input_mask": (ids > 0).astype("int32"),
        "masked_lm_positions": np.ones([len(texts), 1], "int32"),
    }
    logits = served.model(features)["masked_lm_logits"][:, 0]
    expected, _ = tf.math.top_k(tf.nn.softmax(logits), 5)
    np.testing.assert_allclose(answers["probabilities"][:, 0], expected, atol=1e-5)


@pytest.mark.slow
def test_a_smaller_vocabulary_than_the_model_s_has_a_piece_for_each_guess(
    masked_lm, tmp_path
):
    """A configuration may round its vocab_size up."""
    config = dataclasses.replace(masked_lm.model.config, vocab_size=60)
    model = AlbertForPreTraining(config)
    model.save_pretrained(tmp_path, masked_lm.tokenizer, {"max_seq_length": 24})
    options = ExportOptions(str(tmp_path), str(tmp_path / "served"), task="masked_lm")
    export(options)
    answers = Predictor(tmp_path / "served").arrays(["the [MASK] was [MASK]"] * 2)
    assert answers["token_ids"].max() < masked_lm.tokenizer.vocab_size < 60
