"""Questions, choices and tags by an XLNet: to files and answers."""

import json

import keras
import numpy as np
import pytest

import albert_tf
from albert_tf.cli.command_line import parse
from albert_tf.tasks.commands.run import run_repeatedly
from albert_tf.tasks.multiple_choice.flags import RaceOptions
from albert_tf.tasks.question_answering.flags import SquadOptions
from albert_tf.tasks.tagging.flags import TaggingOptions

_CONTEXT = "the film was very good and the plot was not very bad"
_FLAGS = {
    "max_seq_length": 14,
    "train_step": 10,
    "save_checkpoints_steps": 10,
    "learning_rate": 1e-2,
    "train_batch_size": 8,
    "do_train": True,
    "do_predict": True,
}
# With which small tables are learned by heart.
_BY_HEART = {
    "train_step": 60,
    "save_checkpoints_steps": 60,
    "albert_dropout_prob": 0,
    "dropout_prob": 0,
    "do_eval": True,
}


def _write_questions(path):
    """Writes questions of which each names a word; the answer is the word after it."""
    words = _CONTEXT.split()
    ends = np.cumsum([len(word) + 1 for word in words])
    qas = [
        {
            "id": str(place),
            "question": f"{words[place]} {words[place + 1]}",
            "is_impossible": False,
            "answers": [{"text": words[place + 1], "answer_start": int(ends[place])}],
        }
        for place in (3, 9, 10)
    ]
    none = {"question": "is it", "is_impossible": True, "answers": []}
    qas += [{"id": f"none{i}", **none} for i in range(3)]
    data = {"data": [{"paragraphs": [{"context": _CONTEXT, "qas": qas}]}]}
    path.write_text(json.dumps(data))
    return qas


@pytest.fixture
def tune(xlnet_tokenizer, xlnet_config, tmp_path):
    """Fine-tunes a tiny pretrained XLNet by a command; returns its output folder."""
    keras.utils.set_random_seed(1)
    config = xlnet_config(
        n_layer=1, d_head=8, initializer_range=0.1, mem_len=6, bi_data=True
    )
    model = albert_tf.XLNetLMHeadModel(config)
    model.save_pretrained(tmp_path / "pretrained", xlnet_tokenizer)
    places = {
        "init_checkpoint": tmp_path / "pretrained",
        "output_dir": tmp_path / "out",
    }

    def run(options_class, **flags):
        values = {**_FLAGS, **places, **flags}
        argv = [f"--{name}={value}" for name, value in values.items()]
        run_repeatedly(parse(options_class, ["run.py", *argv]))
        return tmp_path / "out"

    return run


@pytest.mark.slow
def test_questions(tune, tmp_path):
    path = tmp_path / "questions.json"
    qas = _write_questions(path)
    sizes = {"max_query_length": 3, "doc_stride": 4}
    out = tune(SquadOptions, train_file=path, predict_file=path, **sizes)
    answers = json.loads((out / "predictions.json").read_text())
    info = json.loads((out / "model" / "training_info.json").read_text())
    threshold = info["dev"]["null_score_diff_threshold"]
    questions = [question["question"] for question in qas]
    found = albert_tf.Predictor(out / "model")(questions, [_CONTEXT] * len(questions))
    for question, own in zip(qas, found, strict=True):
        best = own["answers"][0]["answer"]
        is_none = own["no_answer_score"] >= threshold
        assert ("" if is_none else best) == answers[question["id"]]
        start, end = own["answers"][0]["start"], own["answers"][0]["end"]
        assert _CONTEXT[start:end] == best


def _write_tables(tmp_path, name, text):
    """Writes one text as the training, dev and test data; returns flags."""
    (tmp_path / "data").mkdir()
    for role in ("train", "dev", "test"):
        (tmp_path / "data" / f"{role}.{name}").write_text(text)
    return {"data_dir": tmp_path / "data", "export_dir": tmp_path / "served"}


@pytest.mark.nightly
def test_choices(tune, tmp_path):
    rows = []
    for i, word in enumerate(["was", "is"] * 4):
        options = ["good", "bad film"][:: -1 if i % 2 else 1]
        asked = {"id": str(i), "context": "the plot", "question": f"it {word} _"}
        rows.append({**asked, "options": options, "label": i % 2})
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    flags = _write_tables(tmp_path, "jsonl", lines) | _BY_HEART
    out = tune(RaceOptions, task_name="custom", max_qa_length=6, **flags)
    assert "eval_accuracy = 1.0" in (out / "eval_results.txt").read_text()
    lines = map(json.loads, (out / "predictions.jsonl").read_text().splitlines())
    expected = [line["probabilities"] for line in lines]
    names = ("question", "context", "options")
    asked = {name: [row[name] for row in rows] for name in names}
    for place in (out / "model", tmp_path / "served"):
        shares = [one["probabilities"] for one in albert_tf.Predictor(place)(**asked)]
        np.testing.assert_allclose(shares, expected, atol=1e-5)


@pytest.mark.nightly
def test_tags(tune, tmp_path):
    sentences = [
        "the/O film/B-IT was/O very/O good/B-ITS",
        "it/B-IT is/O not/O bad/B-ITS",
        # More than a window.
        " ".join(["the/O plot/B-IT was/O bad/B-ITS and/O"] * 4),
    ]
    text = "\n\n".join(s.replace(" ", "\n").replace("/", " ") for s in sentences)
    flags = _write_tables(tmp_path, "conll", f"{text}\n\n") | _BY_HEART
    out = tune(TaggingOptions, doc_stride=4, **flags)
    assert "f1 = 1.0" in (out / "eval_results.txt").read_text()
    words = [[word.split("/") for word in s.split()] for s in sentences]
    texts = [" ".join(word for word, _ in pairs) for pairs in words]
    expected = [
        [(word, label[2:]) for word, label in pairs if label != "O"] for pairs in words
    ]
    for place in (out / "model", tmp_path / "served"):
        entities = [
            [(entity["entity"], entity["label"]) for entity in answer["entities"]]
            for answer in albert_tf.Predictor(place)(texts)
        ]
        assert entities == expected
