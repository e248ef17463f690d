"""Strings in, answers out: from a folder or a model in memory, and in a copy of it."""

import copy
import io
import json
import pickle
import shutil

import numpy as np
import pytest
import tensorflow as tf

import albert_tf
from albert_tf.errors import UserError
from albert_tf.models.albert import AlbertModel
from albert_tf.serving.inputs import Inputs
from albert_tf.serving.inputs import outputs_of
from albert_tf.serving.loading import _as_given
from albert_tf.serving.loading import _choose
from albert_tf.serving.loading import task_served
from albert_tf.serving.predictor import Predictor
from albert_tf.tasks.task import Task
from tests.serving.answers import exported

Classifier = albert_tf.AlbertForSequenceClassification
_TEXTS = ["the film was very good .", "bad", "a good plot, not a bad one . " * 9]
_PAIRS = ["it is", "", "good"]
_REFUSAL = "assertion failed: [too long] [a]"
_TEXT = Inputs({"text": 1}, ("text",))
_CHOICES = Inputs({"question": 1, "choices": 2}, ("question", "choices"))


def assert_same(answers, expected):
    pairs = zip(tf.nest.flatten(answers), tf.nest.flatten(expected), strict=True)
    for found, value in pairs:
        same = value if isinstance(value, str) else pytest.approx(value, 1e-4)
        assert found == same


def test_lists_of_texts_for_each_input():
    columns, is_one = _CHOICES.columns(("who?", ["a", "bé"]), {})
    assert is_one
    assert columns == {"question": [b"who?"], "choices": [[b"a", "bé".encode()]]}
    # Halves of surrogate pairs are replaced.
    columns, _ = _TEXT.columns((["a\0b", "\ud83d."],), {})
    assert columns == {"text": [b"a\0b", "\ufffd.".encode()]}


@pytest.mark.parametrize(
    "many",
    [
        iter,
        np.array,
        tf.constant,
        lambda texts: dict.fromkeys(texts).keys(),
        lambda texts: io.StringIO("\n".join(texts)),
        lambda texts: tf.data.Dataset.from_tensor_slices(texts),
    ],
)
def test_whatever_holds_many_is_read_once_and_wholly(many):
    texts = ["a", "b", "c"]
    columns, is_one = _TEXT.columns((many(texts),), {})
    assert not is_one
    assert [text.strip() for text in columns["text"]] == [b"a", b"b", b"c"]
    given = iter(["p?", "q?"]), (iter(texts) for _ in range(2))
    columns, is_one = _CHOICES.columns(given, {})
    assert columns == {"question": [b"p?", b"q?"], "choices": [[b"a", b"b", b"c"]] * 2}
    columns, is_one = _CHOICES.columns(("q?", many(texts)), {})
    assert is_one
    assert [len(options) for options in columns["choices"]] == [3]


@pytest.mark.parametrize(
    ("given", "named", "message"),
    [
        (("who?", "a"), {}, "choices must be a list of str, got str"),
        (("who?", []), {}, "choices must hold at least one str for each input"),
        ((["a", "b"], [["c"], []]), {}, "choices must hold at least one str for each"),
        ((["who?"], ["a", "b"]), {}, "of one input, or lists of all"),
        ((["who?"], [["a"], ["b"]]), {}, "must be equal in number, got 1 and 2"),
        (([{"who?"}], [["a"]]), {}, r"question\[0\] must be a list, got a set"),
        (("who?", {"a": 1}), {}, "choices must be a list, got a dict; pass"),
        (("who?", ["a", 1]), {}, r"choices\[1\] must be a str, got int"),
        (("a", ["b"], "c"), {}, "takes question and choices, but got 3 arguments; put"),
        (("a",), {"context": "b"}, "takes question .* got question and context"),
        (("a", ["b"]), {"question": "c"}, "question is given twice"),
    ],
)
def test_what_does_not_fit(given, named, message):
    with pytest.raises(UserError, match=message):
        _CHOICES.columns(given, named)
    with pytest.raises(UserError, match="Give the texts by name: a=…, b=…"):
        Inputs({"b": 1, "a": 1}, None).columns(("who?",), {})


@pytest.mark.parametrize(
    ("batch_size", "most", "batches"),
    [
        (1, 99, ["", "a", "aa", "aaa", "aaaa"]),
        (2, 99, [" a", "aa aaa", "aaaa"]),
        (5, 99, [" a aa aaa aaaa"]),
        (5, 6, [" a aa", "aaa", "aaaa"]),
    ],
)
def test_batches_of_similar_length_within_the_limits(
    batch_size, most, batches, monkeypatch
):
    monkeypatch.setattr("albert_tf.serving.inputs.MOST_CHARACTERS", most)
    seen, texts = [], [b"aaa", b"a", b"aa", b"", b"aaaa"]

    def signature(text):
        seen.append(b" ".join(text.numpy()).decode())
        return {"length": tf.strings.length(text), "same": text}

    found = outputs_of(signature, {"text": texts}, batch_size)
    assert seen == batches
    assert found["length"].tolist() == [3, 1, 2, 0, 4]
    assert found["same"].tolist() == [text.decode() for text in texts]


def test_what_no_check_of_inputs_refuses_is_raised_as_it_is():
    for message, error in (("a bug", tf.errors.OpError), (_REFUSAL, UserError)):

        def signature(message=message, **_):
            raise tf.errors.InvalidArgumentError(None, None, message)

        with pytest.raises(error) as raised:
            outputs_of(signature, {"text": [b"a"]}, 1)
        assert message == _REFUSAL or raised.value.message == message
    assert str(raised.value) == "too long"


@pytest.mark.slow
def test_order_is_kept_whatever_the_batches(saved_model, export_of):
    """Of pairs, by their place and by their names."""
    module, version = Predictor(saved_model("pairs")), export_of("pairs")
    served = Predictor(version.parent)
    expected = served(_TEXTS, _PAIRS)
    assert served.inputs == ("text", "text_pair")
    assert_same(module(_TEXTS, _PAIRS), expected)
    assert_same(served(text_pair=_PAIRS, text=_TEXTS), expected)
    for batch_size in (1, 2):
        assert_same(served(_TEXTS, _PAIRS, batch_size=batch_size), expected)
    pairs = zip(_TEXTS, _PAIRS, strict=True)
    assert_same([served(text, text_pair=pair) for text, pair in pairs], expected)
    assert list(expected[0]["probabilities"]) == ["no", "so", "yes"]
    json.dumps(expected)
    assert served([], []) == []
    with pytest.raises(UserError, match="batch_size=0: expected at least 1"):
        served(_TEXTS, _PAIRS, batch_size=0)


@pytest.mark.slow
def test_labels_are_enough_and_pairs_are_free(classifier, tmp_path):
    """Nobody has said whether such a model was trained on pairs."""
    model = Classifier.from_pretrained(classifier.folder, labels=["sad", "glad"])
    model.save_pretrained(tmp_path, classifier.tokenizer)
    predictor = Predictor(tmp_path)
    for given in (_TEXTS[:1], (_TEXTS[0], _PAIRS[0])):
        logits = model(classifier.tokenizer(*given))[0].numpy()
        assert predictor(*given)["label"] == ("sad", "glad")[logits.argmax()]
        share = predictor(*given)["probabilities"]["glad"]
        assert share == pytest.approx(float(tf.nn.softmax(logits)[1]), abs=1e-5)


@pytest.mark.slow
def test_what_is_no_model(classifier, tmp_path):
    with pytest.raises(UserError, match="A model in memory needs its tokenizer"):
        Predictor(classifier.model)
    with pytest.raises(UserError, match="or a model of albert_tf, not a int"):
        Predictor(3)
    with pytest.raises(UserError, match="has no exit heads, so that no text can leave"):
        Predictor(classifier.folder, exit_rule={"threshold": 3})
    with pytest.raises(UserError, match="^m is an AlbertModel, which cannot be served"):
        _choose(AlbertModel, {}, None, "auto", "m")
    with pytest.raises(UserError, match="is an exported model, which brings its own"):
        Predictor(classifier.version, task="encoder")
    classifier.model.export(tmp_path / "keras", verbose=False)
    with pytest.raises(UserError, match="takes no strings; export the model directory"):
        Predictor(tmp_path / "keras")
    folder = shutil.copytree(classifier.version, tmp_path / "damaged" / "1")
    path = folder / "saved_model.pb"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(UserError, match="saved_model.pb is damaged"):
        Predictor(folder.parent)
    (folder / "SHA256SUMS").unlink()
    with pytest.raises(UserError, match="1 holds no SavedModel that can be loaded"):
        Predictor(folder.parent)
    model = Classifier.from_pretrained(classifier.folder, num_labels=3)
    model.save_pretrained(tmp_path / "unnamed", classifier.tokenizer)
    with pytest.raises(UserError, match="does not say what its outputs mean; fine-tu"):
        Predictor(tmp_path / "unnamed")
    answer = Predictor(tmp_path / "unnamed", task="encoder")("bad")
    assert answer["pooled_output"].shape == (32,)


@pytest.mark.slow
def test_nan_is_no_answer(classifier, tmp_path):
    """Every label is as probable then, and the first would be the answer."""
    model = Classifier(classifier.model.config, labels=["no", "yes"])
    predictor = Predictor(model, classifier.tokenizer)
    model.official_variables()["output_bias"].assign([np.nan, 0.0])
    with pytest.raises(UserError, match="answers NaN to input 1: its weights"):
        predictor(_TEXTS)
    model.save_pretrained(tmp_path / "model", classifier.tokenizer)
    for read in (Predictor, lambda path: exported(path, tmp_path / "served")):
        with pytest.raises(UserError, match="holds NaN or infinity in output_bias"):
            read(tmp_path / "model")
    assert not (tmp_path / "served").exists()


def test_an_export_of_a_task_of_tomorrow_gives_its_outputs():
    unknown = {"kind": "of tomorrow", "name": "x"}
    assert type(task_served({"task": unknown, "serves": "x"})) is Task
    several = task_served({"tasks": {"a": unknown}})
    assert several.tasks == {"a": Task(name="a")}


def test_a_prompt_stands_before_the_texts_of_a_file():
    texts = {"text": tf.constant(["a", "b"])}
    assert _as_given(**texts) == texts
    found = _as_given(prompt=tf.constant(["q: ", "p: "]), **texts)["text"]
    assert found.numpy().tolist() == [b"q: a", b"p: b"]


def twin(predictor):
    return pickle.loads(pickle.dumps(predictor))


@pytest.mark.slow
def test_a_copy_opens_the_version_of_the_original(classifier, tmp_path, monkeypatch):
    """Wherever it starts, and whatever else has been exported."""
    shutil.copytree(classifier.version, tmp_path / "m" / "1")
    monkeypatch.chdir(tmp_path)
    predictor = Predictor("m")
    shutil.copytree(classifier.version, tmp_path / "m" / "2")
    monkeypatch.chdir("/")
    expected = predictor.arrays(_TEXTS)
    for again in (twin(predictor), copy.deepcopy(predictor)):
        assert again._directory == str(tmp_path / "m" / "1")
        np.testing.assert_equal(again.arrays(_TEXTS), expected)


@pytest.mark.slow
def test_a_copy_of_a_model_in_memory_has_its_own_weights(opened):
    served = opened("classification")
    model = served.model
    model.saved_task_info = {**model.saved_task_info, "max_seq_length": 9}
    predictor = Predictor(model, served.tokenizer)
    again = twin(predictor)
    np.testing.assert_equal(again.arrays(_TEXTS), predictor.arrays(_TEXTS))
    model.classifier.output_bias.assign([50.0, 0.0])
    assert {answer["label"] for answer in predictor(_TEXTS)} == {"no"}
    found = again.arrays(_TEXTS)["probabilities"]
    assert found.max() < 0.999


@pytest.mark.slow
@pytest.mark.parametrize("listed", [True, False])
def test_a_copy_of_a_folder_that_changes_is_refused(listed, classifier, tmp_path):
    folder = shutil.copytree(classifier.folder, tmp_path / "m")
    if not listed:
        (folder / "SHA256SUMS").unlink()
    predictor = Predictor(folder, task="encoder")
    data = pickle.dumps(predictor)
    np.testing.assert_equal(pickle.loads(data).arrays("bad"), predictor.arrays("bad"))
    other = Classifier(classifier.model.config, labels=["no", "yes"])
    other.save_pretrained(tmp_path / "other", classifier.tokenizer)
    for path in (tmp_path / "other").iterdir():
        if listed or path.name != "SHA256SUMS":
            shutil.copy(path, folder)
    with pytest.raises(UserError, match="m has changed since the Predictor opened it"):
        pickle.dumps(predictor)
    with pytest.raises(UserError, match="m has other files here than where the Pred"):
        pickle.loads(data)
    shutil.rmtree(folder)
    with pytest.raises(UserError, match="m has changed since the Predictor opened it"):
        copy.deepcopy(predictor)
    with pytest.raises(UserError, match=f"{folder}"):
        pickle.loads(data)
