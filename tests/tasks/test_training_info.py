"""`training_info.json` is read by one reader, which names the damage."""

import json

import pytest

from albert_tf import bundle
from albert_tf.checkpoints.model_directory import read_training_info
from albert_tf.errors import UserError
from albert_tf.families import registry
from albert_tf.models.classification import AlbertForSequenceClassification
from albert_tf.tasks.loading import fine_tuned
from albert_tf.tasks.registry import create_task
from albert_tf.tasks.registry import read_task
from albert_tf.tasks.registry import task_of

TASK = {"kind": "single_label", "name": "t", "labels": ["a", "b"], "pair": False}


def write(folder, **info):
    folder.mkdir(exist_ok=True)
    (folder / "training_info.json").write_text(json.dumps(info))
    return folder


def test_what_is_not_acted_on_is_free(tmp_path):
    info = {"step": 0, "max_seq_length": 12, "mine": [1], "task": TASK}
    assert read_training_info(write(tmp_path / "m", **info)) == info
    assert read_training_info(tmp_path) == {}


@pytest.mark.parametrize(
    ("info", "message"),
    [
        ({"max_seq_length": "12"}, "sets max_seq_length to '12', expected an integer"),
        ({"max_seq_length": 10**30}, "sets max_seq_length to 10000"),
        ({"step": -1}, "sets step to -1, .* at least 0"),
        ({"step": True}, "sets step to True"),
        ({"task": "t"}, "sets task to 't', expected an object"),
    ],
)
def test_damaged_values_are_named(info, message, tmp_path):
    with pytest.raises(UserError, match=f"training_info.json {message}"):
        read_training_info(write(tmp_path / "model", **info))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels": "ab"}, "labels is 'ab', expected a list of strings"),
        ({"labels": [1, 2]}, "labels is .1, 2., expected a list of strings"),
        ({"pair": "false"}, "pair is 'false', expected true, false or null"),
        ({"metrics": ["accurracy"]}, "the metric 'accurracy' is unknown"),
        ({"kind": ["single_label"]}, "does not know the task"),
        ({"depth": 3}, "does not know the task"),
    ],
)
def test_damaged_tasks_are_named(change, message, tmp_path):
    with pytest.raises(UserError, match=message):
        task_of({"task": {**TASK, **change}}, "model")


def test_a_task_of_another_model(tiny_config, tmp_path):
    model = AlbertForSequenceClassification(tiny_config(), num_labels=3)
    model.save_pretrained(tmp_path)
    with pytest.raises(UserError, match="num_labels=3, but .* of num_labels=2"):
        read_task(bundle.open(write(tmp_path, task=TASK)))
    labels = {**TASK, "labels": ["a", "b", "c"]}
    assert read_task(bundle.open(write(tmp_path, task=labels))).num_outputs == 3


def test_labels_in_two_orders_are_refused(tiny_config, tmp_path):
    model = AlbertForSequenceClassification(tiny_config(), labels=["a", "b"])
    other = {"task": {**TASK, "labels": ["b", "a"]}}
    message = "head.json has the labels a, b, but training_info.json has b, a"
    with pytest.raises(UserError, match=message):
        model.save_pretrained(tmp_path / "model", training_info=other)
    model.save_pretrained(tmp_path / "model", training_info={"task": TASK})
    (tmp_path / "model" / "SHA256SUMS").unlink()
    write(tmp_path / "model", **other)
    for read in (AlbertForSequenceClassification.from_pretrained, fine_tuned):
        with pytest.raises(UserError, match=message):
            read(tmp_path / "model" if read != fine_tuned else tmp_path)


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
    with pytest.raises(UserError, match="label_kind=multi_label, but .*single_label"):
        read_task(bundle.open(write(tmp_path, task=TASK)))


@pytest.mark.parametrize(
    ("model", "head", "kind"),
    [
        ("AlbertForSequenceClassification", {"labels": ["a", "b"]}, "single_label"),
        ("XLNetForSequenceClassification", {"label_kind": "regression"}, "regression"),
        (
            "AlbertForSequenceClassification",
            {"label_kind": "regression", "num_labels": 2},
            None,  # no task has several numbers
        ),
        ("AlbertForSequenceClassification", {"num_labels": 2}, None),
        ("AlbertForTokenClassification", {"labels": ["O", "B-A"]}, "tagging"),
        ("AlbertForTokenClassification", {"labels": ["B-A", "x"]}, None),
        ("XLNetForQuestionAnswering", {}, "squad_v2"),
        ("AlbertForTextEmbedding", {"pooling": "cls"}, "similarity"),
        ("AlbertModel", {}, None),
    ],
)
def test_what_a_head_tells(model, head, kind):
    told = task_of({}, "the model", registry.model_class(model), head)
    assert (told and told.kind) == kind
