"""`training_info.json` is read by one reader that names damage; served answers."""

import json

import numpy as np
import pytest
import tensorflow as tf
from scipy.special import softmax

from albert_tf import bundle
from albert_tf.checkpoints.model_directory import read_training_info
from albert_tf.errors import UserError
from albert_tf.families import registry
from albert_tf.models.albert import AlbertModel
from albert_tf.models.classification import AlbertForSequenceClassification
from albert_tf.models.pretraining import AlbertForPreTraining
from albert_tf.tasks import pretrained
from albert_tf.tasks import served_answers
from albert_tf.tasks.loading import fine_tuned
from albert_tf.tasks.loading import load_fine_tuned
from albert_tf.tasks.registry import create_task
from albert_tf.tasks.registry import read_task
from albert_tf.tasks.registry import task_of

TASK = {"kind": "single_label", "name": "t", "labels": ["a", "b"], "pair": False}
LOGITS = np.float32([[0.5, -1.0, 2.0], [-3.0, 1.5, 0.25]])


def write(folder, **info):
    folder.mkdir(exist_ok=True)
    (folder / "training_info.json").write_text(json.dumps(info))
    return folder


def test_damaged_values_and_tasks_are_named(tmp_path):
    folder = tmp_path / "model"
    for info, message in (
        ({"max_seq_length": "12"}, "sets max_seq_length to '12', expected an integer"),
        ({"max_seq_length": 10**30}, "sets max_seq_length to 10000"),
        ({"max_seq_length": 0}, "sets max_seq_length to 0, .* at least 1"),
        ({"step": -1}, "sets step to -1, .* at least 0"),
        ({"step": True}, "sets step to True"),
        ({"task": "t"}, "sets task to 't', expected an object"),
    ):
        with pytest.raises(UserError, match=f"training_info.json {message}"):
            read_training_info(write(folder, **info))
    info = {"step": 0, "max_seq_length": 12, "mine": [1], "task": TASK}
    assert read_training_info(write(folder, **info)) == info
    assert read_training_info(tmp_path) == {}
    for change, message in (
        ({"labels": "ab"}, "labels is 'ab', expected a list of strings"),
        ({"labels": [1, 2]}, "labels is .1, 2., expected a list of strings"),
        ({"labels": ["a", "b", "a"]}, "labels repeats a name: a, b, a"),
        ({"pair": "false"}, "pair is 'false', expected true, false or null"),
        ({"pair": 1}, "pair is 1, expected true, false or null"),
        ({"metrics": ["f", "MSE", "a"]}, "metrics has unknown names: a, f.;"),
        ({"kind": ["single_label"]}, "does not know the task"),
        ({"depth": 3}, "does not know the task"),
    ):
        with pytest.raises(UserError, match=message):
            task_of({"task": {**TASK, **change}}, "model")


def test_a_task_of_another_model(tiny_config, tmp_path):
    model = AlbertForSequenceClassification(tiny_config(), num_labels=3)
    model.save_pretrained(tmp_path)
    with pytest.raises(UserError, match="num_labels=3, but .* of num_labels=2"):
        read_task(bundle.open(write(tmp_path, task=TASK)))
    labels = {**TASK, "labels": ["a", "b", "c"]}
    assert read_task(bundle.open(write(tmp_path, task=labels))).num_outputs == 3
    AlbertModel(tiny_config()).save_pretrained(tmp_path / "tf1", format="tf1")
    with pytest.raises(UserError, match="no head for AlbertForSequenceC.*: output_"):
        load_fine_tuned(bundle.open(tmp_path / "tf1"), create_task(**TASK))


def test_labels_in_two_orders_are_refused(tiny_config, tmp_path):
    model = AlbertForSequenceClassification(tiny_config(), labels=["a", "b"])
    other = {"task": {**TASK, "labels": ["b", "a"]}}
    message = "head.json has the labels a, b, but training_info.json has b, a"
    folder = tmp_path / "model"
    with pytest.raises(UserError, match=message):
        model.save_pretrained(folder, training_info=other)
    model.save_pretrained(folder, training_info={"task": TASK})
    (folder / "SHA256SUMS").unlink()
    write(folder, **other)
    with pytest.raises(UserError, match=message):
        AlbertForSequenceClassification.from_pretrained(folder)
    with pytest.raises(UserError, match=message):
        fine_tuned(tmp_path)


def test_a_second_model_to_apply_is_refused(tiny_config, tmp_path):
    """`model/` in the output folder would answer in its place."""
    model = AlbertForSequenceClassification(tiny_config(), labels=["a", "b"])
    for name in ("model", "start", "other"):
        info = {"task": TASK, "init_checkpoint": str(tmp_path / "start")}
        model.save_pretrained(tmp_path / name, training_info=info)
    with pytest.raises(UserError, match="other; leave --init_checkpoint out to apply"):
        fine_tuned(tmp_path, bundle.open(tmp_path / "other"))
    places = [tmp_path / name for name in ("start", "model")]
    for named in (None, *map(bundle.open, places)):
        assert fine_tuned(tmp_path, named)[0].path == str(tmp_path / "model")


def test_a_model_of_a_task_tells_the_task_by_itself(tiny_config, tmp_path):
    """Its head has the labels and what they mean, without `training_info.json`."""
    task = create_task("multi_label", "t", labels=("a", "b"))
    task.model_class(tiny_config(), **task.model_arguments()).save_pretrained(tmp_path)
    (tmp_path / "SHA256SUMS").unlink()
    assert not (tmp_path / "training_info.json").exists()
    told = read_task(bundle.open(tmp_path))
    assert (told.kind, told.labels, told.pair) == ("multi_label", ("a", "b"), None)
    assert read_task(bundle.open(tmp_path), create_task("regression", "t")) == told
    asked = create_task("tagging", "t", labels=("O", "B-A"))
    assert read_task(bundle.open(tmp_path), asked) == told
    # One label may rank, unless the training says otherwise.
    task, ranking = (
        create_task("multi_label", "t", labels=["a"]),
        create_task("ranking", "t"),
    )
    model = AlbertForSequenceClassification(tiny_config(), **task.model_arguments())
    model.save_pretrained(tmp_path / "one")
    opened = bundle.open(tmp_path / "one")
    kinds = [read_task(opened, asked).kind for asked in (None, task, ranking)]
    assert kinds == ["multi_label", "multi_label", "ranking"]
    model.save_pretrained(tmp_path / "one", training_info={"task": task.to_dict()})
    assert read_task(bundle.open(tmp_path / "one"), ranking) == task
    with pytest.raises(UserError, match="label_kind=multi_label, but .*single_label"):
        read_task(bundle.open(write(tmp_path, task=TASK)))


_CLASSIFIER = "AlbertForSequenceClassification"
_TAGGER = "AlbertForTokenClassification"
_NUMBER = {"label_kind": "regression"}


@pytest.mark.parametrize(
    ("model", "head", "kind"),
    [
        (_CLASSIFIER, {"labels": ["a", "b"]}, "single_label"),
        ("XLNetForSequenceClassification", _NUMBER, "regression"),
        (_CLASSIFIER, {**_NUMBER, "num_labels": 2}, None),  # no task has several
        (_CLASSIFIER, {**_NUMBER, "num_labels": 1}, "regression"),
        (_CLASSIFIER, {"num_labels": 2}, None),
        (_TAGGER, {"labels": ["O", "B-A"]}, "tagging"),
        (_TAGGER, {"labels": ["NN", "VB"]}, "tagging"),
        (_TAGGER, {"labels": ["B-A", "x"]}, None),
        (_TAGGER, {"labels": ["O", "x"]}, None),
        (_TAGGER, {"labels": ["B-A", "I-A"]}, None),
        (_TAGGER, {"labels": ["LABEL_0", "x"]}, None),
        (_TAGGER, {"labels": [0, 1]}, None),
        (_TAGGER, {"num_labels": 2}, None),
        ("XLNetForQuestionAnswering", {}, "squad_v2"),
        ("AlbertForTextEmbedding", {"pooling": "cls"}, "similarity"),
        ("AlbertModel", {}, None),
    ],
)
def test_what_a_head_tells(model, head, kind):
    told = task_of({}, "the model", registry.model_class(model), head)
    assert (told and told.kind) == kind
    if model == _TAGGER and told:
        assert told.scheme == ("iob2" if "O" in head["labels"] else "plain")


def test_features_are_padded_behind_and_no_probability_has_no_log_of_zero():
    features = {"a": tf.constant([[[1, 2], [3, 4]]]), "b": tf.ones([1, 2, 5], tf.int32)}
    padded = served_answers.at_least(features, 3)
    assert padded["a"].numpy().tolist() == [[[1, 2, 0], [3, 4, 0]]]
    assert padded["b"].shape == (1, 2, 5)
    padded = served_answers.at_least(features, 3, axis=1)
    assert padded["a"].numpy().tolist()[0][2] == [0, 0]
    shares = np.float32([0.5, 0.25, 0.0])
    logits = served_answers.log_shares(shares)
    assert np.isfinite(logits).all()
    np.testing.assert_allclose(softmax(logits), shares / 0.75, atol=1e-30)


@pytest.mark.parametrize(
    ("kind", "fields", "outputs"),
    [
        ("single_label", {"labels": ("a", "b", "c")}, LOGITS),
        ("multi_label", {"labels": ("a", "b", "c")}, LOGITS),
        ("regression", {}, LOGITS[:, :1]),
        ("multiple_choice", {}, LOGITS),
        ("similarity", {}, LOGITS),
        ("tagging", {"labels": ("O", "B-A", "I-A")}, LOGITS),
    ],
)
def test_what_a_model_has_computed_is_found_again_in_its_numbers(kind, fields, outputs):
    task = create_task(kind, "t", **fields)
    found = task.outputs(task.numbers(tf.constant(outputs)))
    if kind in ("single_label", "multiple_choice"):  # up to a constant
        found, outputs = softmax(found, axis=1), softmax(outputs, axis=1)
    np.testing.assert_allclose(found, outputs, rtol=1e-5)
    if kind == "multi_label":
        most = task.outputs(task.numbers(tf.constant([[-200.0, 0.0, 200.0]])))
        np.testing.assert_allclose(most, [[-15.94, 0, 15.94]], atol=0.01)


def test_what_a_model_answers_without_a_task():
    assert pretrained.usual_answer(AlbertForPreTraining) == "encoder"
    found = pretrained.answers_of(AlbertForPreTraining)
    assert found["masked_lm"] == (AlbertForPreTraining, pretrained.MaskedWords)
    assert found["encoder"][1] is pretrained.EncoderOutputs
    alone = pretrained.answers_of(AlbertModel)
    assert alone["embedding"] == (AlbertModel, pretrained.MeanVectors)
    # Its checkpoint may hold the head; of a head of labels nobody knows the task.
    assert alone["masked_lm"][0].purpose in ("masked_lm", "pretraining")
    assert "classification" not in alone
