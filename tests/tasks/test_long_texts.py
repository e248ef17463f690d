"""Texts longer than a row: head and tail, and windows whose outputs are pooled."""

import json

import numpy as np
import pytest
from scipy.special import softmax

from albert_tf import AlbertForSequenceClassification
from albert_tf import Predictor
from albert_tf import TextClassifier
from albert_tf import TextEmbedder
from albert_tf.errors import UserError
from albert_tf.serving.export import ExportOptions
from albert_tf.serving.export import export
from albert_tf.tasks.batching import evaluation_dataset
from albert_tf.tasks.long_texts import LongTexts
from albert_tf.tasks.similarity.reading import table_of
from albert_tf.tasks.similarity.task import Similarity
from albert_tf.tasks.tokenized_examples import tokenize_texts

LONG = "the film was good and the plot was not it " * 4 + "is very bad"
TEXTS = ["a film", LONG, "the plot is " * 4]
LABELS = ["yes", "no", "yes"]
LENGTH = 16


def test_a_model_pools_the_windows_of_each_text(saved_model):
    model = AlbertForSequenceClassification.from_pretrained(
        saved_model("encoder"), num_labels=2, window_pooling="mean"
    )
    ids = np.array([[[2, 7, 8, 3], [2, 9, 3, 0]], [[2, 11, 3, 0], [0, 0, 0, 0]]])
    features = {"input_ids": ids, "input_mask": (ids > 0).astype(int)}
    rows = {name: values.reshape(-1, 4)[:3] for name, values in features.items()}
    logits = np.array(model(rows))
    means = np.stack([logits[:2].mean(axis=0), logits[2]])
    np.testing.assert_allclose(model(features), means, atol=1e-6)
    model.window_pooling = "max"
    most = np.stack([logits[:2].max(axis=0), logits[2]])
    np.testing.assert_allclose(model(features), most, atol=1e-6)
    model.window_pooling = None
    np.testing.assert_allclose(np.array(model(features))[0], logits[:2], atol=1e-6)


def test_head_tail_keeps_a_quarter_of_the_beginning_and_windows_all(family_tokenizer):
    tokenizer, settings = family_tokenizer(), LongTexts(long_texts="head_tail")
    rows = tokenize_texts(TEXTS[:2], None, tokenizer, LENGTH, long_texts=settings)
    whole, kept = tokenizer.encode(LONG), LENGTH - 2
    expected = [*whole[: kept // 4], *whole[kept // 4 - kept :]]
    expected = [tokenizer.cls_id, *expected, tokenizer.sep_id]
    assert rows.ids[rows.starts[1] :].tolist() == expected
    assert rows.lengths.tolist() == [4, LENGTH]
    settings = LongTexts(long_texts="windows", doc_stride=10)
    rows = tokenize_texts(TEXTS, None, tokenizer, LENGTH, long_texts=settings)
    bounds = zip(rows.starts[1], rows.lengths[1], strict=True)
    cut = [rows.ids[start : start + length].tolist() for start, length in bounds]
    expected = [
        [tokenizer.cls_id, *whole[start : start + 14], tokenizer.sep_id]
        for start in range(0, len(whole) - 14 + 10, 10)
    ]
    assert cut == expected
    assert (rows.lengths > 0).sum(axis=1).tolist() == [1, len(expected), 1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "settings", "format"),
    [
        ("albert", {"long_texts": "windows", "doc_stride": 9}, "onnx"),
        ("xlnet", {"long_texts": "windows", "window_pooling": "max"}, "saved_model"),
        ("albert", {"long_texts": "head_tail"}, "saved_model"),
    ],
)
def test_training_serving_and_files_read_the_same(
    family, settings, format, saved_model, tmp_path
):
    start = saved_model("encoder", family)
    classifier = TextClassifier(start, max_length=LENGTH, **settings)
    classifier.fit(TEXTS, LABELS, epochs=2, learning_rate=1e-3, verbose=0)
    scores = classifier.evaluate(TEXTS, LABELS)
    found = classifier.predict_proba(TEXTS)
    names = [*classifier.classes_].index
    right = [row[names(label)] for row, label in zip(found, LABELS, strict=True)]
    assert scores["loss"] == pytest.approx(-np.mean(np.log(right)), abs=1e-5)
    folder = tmp_path / "model"
    classifier.save_pretrained(folder)
    again = TextClassifier(folder)
    np.testing.assert_allclose(again.predict_proba(TEXTS), found, atol=1e-6)
    options = ExportOptions(str(folder), str(tmp_path / "export"), format=format)
    served = Predictor(export(options)).arrays(TEXTS)["probabilities"]
    np.testing.assert_allclose(served, found, atol=1e-5)
    if format == "saved_model":
        return
    # It may be opened to read otherwise.
    begins = TextClassifier(folder, long_texts="truncate")
    expected, found = found, begins.predict_proba(TEXTS)
    assert np.abs(found - expected).max() > 1e-4
    begin = begins.tokenizer.encode(LONG)[: LENGTH - 2]
    row = [begins.tokenizer.cls_id, *begin, begins.tokenizer.sep_id]
    logits = classifier.model({"input_ids": np.array([row])})[0]
    np.testing.assert_allclose(found[1], softmax(logits), atol=1e-5)
    further = TextClassifier(folder, labels=["bad", "good"])
    further.fit(TEXTS, ["bad", "good", "bad"], epochs=1, verbose=0)
    assert further.model.window_pooling == "mean"


@pytest.mark.slow
def test_vectors_of_windows_are_trained_served_and_kept(saved_model, tmp_path):
    source, settings = saved_model("encoder"), {"max_seq_length": LENGTH}
    embedder = TextEmbedder(source, long_texts="windows", normalize=True, **settings)
    embedder.fit([(LONG, "is bad"), ("a film", LONG)], batch_size=2, verbose=0)
    tokenizer = embedder.tokenizer
    whole, room = tokenizer.encode(LONG), LENGTH - 2
    parts = [whole[a : a + room] for a in range(0, len(whole), room)]
    rows = [[tokenizer.cls_id, *part, tokenizer.sep_id] for part in parts]
    of_parts = [embedder.model({"input_ids": np.array([row])})[0] for row in rows]
    mean = np.mean(of_parts, axis=0)
    found = embedder.encode(TEXTS)
    np.testing.assert_allclose(found[1], mean / np.linalg.norm(mean), atol=1e-5)
    folder = tmp_path / "model"
    embedder.save_pretrained(folder)
    np.testing.assert_allclose(TextEmbedder(folder).encode(TEXTS), found, atol=1e-6)
    exported = export(ExportOptions(str(folder), str(tmp_path / "export")))
    served = Predictor(exported).arrays(TEXTS)["embedding"]
    np.testing.assert_allclose(served, found, atol=1e-5)
    with pytest.raises(UserError, match="place for window_pooling='mean'"):
        embedder.save_pretrained(tmp_path / "other", format="huggingface")
    begins = TextEmbedder(folder, long_texts="truncate")
    expected = TextEmbedder(source, normalize=True, **settings).model
    expected.set_weights(begins.model.get_weights())
    first = {"input_ids": np.array([rows[0]])}
    np.testing.assert_allclose(begins.encode(LONG), expected(first)[0], atol=1e-6)
    # Windows of vectors have no prompt.
    with pytest.raises(UserError, match="windows has no prompt before each window, b"):
        embedder.encode(TEXTS, prompt="the film")
    without = TextEmbedder(folder, include_prompt=False)
    np.testing.assert_allclose(without.encode(TEXTS), found, atol=1e-6)
    task = Similarity(name="custom", include_prompt=False, long_texts="windows")
    table, _ = table_of([(LONG, "a film")], None, None)
    (batch,) = evaluation_dataset(task.tokenize(table, tokenizer, LENGTH), 1, LENGTH)
    assert batch["input_ids"].shape[:2] == (1, 2)


@pytest.mark.parametrize("format", ["huggingface", "model_directory"])
def test_what_other_programs_do_not_read_is_told(format, saved_model, tmp_path, caplog):
    embedder = TextEmbedder(saved_model("encoder"), long_texts="head_tail")
    embedder.save_pretrained(tmp_path / "model", format=format)
    told = "huggingface has no place for long_texts=head_tail" in caplog.text
    assert told == (format == "huggingface")


@pytest.mark.slow
@pytest.mark.parametrize("pads", [False, pytest.param(True, marks=pytest.mark.nightly)])
def test_the_command_trains_on_windows_and_continues_exactly(
    pads, flags, continues_exactly
):
    windows = {"long_texts": "windows", "max_seq_length": 5, "train_step": 4}
    continues_exactly(flags, **windows, pad_to_max_length=pads)
    out = flags(do_eval=True, do_predict=True)
    task = json.loads((out / "model" / "training_info.json").read_text())["task"]
    assert task["long_texts"] == "windows"
    model = AlbertForSequenceClassification.from_pretrained(out / "model")
    assert model.window_pooling == "mean"
    texts, written = (
        [line.split("\t")[1:] for line in path.read_text().splitlines()[1:]]
        for path in (out.parent / "data" / "test.tsv", out / "test_results.tsv")
    )
    found = Predictor(out / "model").arrays(sum(texts, []))["probabilities"]
    np.testing.assert_allclose(np.array(written, float), found, atol=1e-5)
    for name in ("early_exit", "few_shot"):
        with pytest.raises(UserError, match=f"--{name} reads texts of one row"):
            flags(do_train=True, from_scratch=None, **{name: True}, **windows)


def test_what_has_no_effect_or_no_windows_is_refused(saved_model):
    folder, windows = saved_model("encoder"), {"long_texts": "windows"}
    for settings, pairs, message in (
        ({"doc_stride": 9}, (), "doc_stride=9 is for long_texts=windows"),
        ({"window_pooling": "max"}, (), "window_pooling=max is for long_texts=windo"),
        ({**windows, "window_pooling": "sum"}, (), "='sum': expected one of mean, max"),
        ({**windows, "doc_stride": 0}, (), "doc_stride=0: expected an integer above 0"),
        ({**windows, "doc_stride": 1.5}, (), "doc_stride=1.5: expected an integer"),
        ({"long_texts": "middle"}, (), "expected one of truncate, head_tail, windows"),
        ({**windows, "few_shot": True}, (), "few_shot reads texts of one"),
        (windows, (TEXTS,), "single texts, not pairs; take head_tail"),
    ):
        with pytest.raises(UserError, match=message):
            TextClassifier(folder, **settings).fit(TEXTS, LABELS, *pairs, verbose=0)


def test_what_is_given_and_what_a_model_has_learned_with():
    names = ("long_texts", "doc_stride", "window_pooling")
    windows = dict(zip(names, ("windows", 9, "max"), strict=True))
    for stored, given, expected in (
        (windows, (None, None, None), ("windows", 9, "max")),
        (windows, ("truncate", None, None), ("truncate", None, "mean")),
        (windows, ("head_tail", None, None), ("head_tail", None, "mean")),
        (windows, ("windows", 5, None), ("windows", 5, "max")),
        (windows, (None, 5, "mean"), ("windows", 5, "mean")),
        ({"long_texts": "head_tail"}, (None, None, None), ("head_tail", None, "mean")),
        # Of a task that is not of long texts.
        ({"doc_stride": 64}, (None, None, None), ("truncate", None, "mean")),
    ):
        found = LongTexts.chosen(stored, *given)
        assert found == dict(zip(names, expected, strict=True))
    # What has no effect is not saved.
    for settings, saved in (
        ({}, {}),
        ({"long_texts": "head_tail"}, {"long_texts": "head_tail"}),
        (windows, windows),
    ):
        settings = LongTexts(**settings)
        assert settings.with_settings({"pair": None, "doc_stride": 3}) == {
            "pair": None,
            **saved,
        }
    LongTexts(long_texts="windows", doc_stride=1).check_long_texts()
