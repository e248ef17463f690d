"""Reading, choices and tags from an XLNet: to files, answers and an export."""

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
_SIZES = {
    "max_seq_length": 14,
    "train_step": 40,
    "save_checkpoints_steps": 40,
    "learning_rate": 1e-2,
    "train_batch_size": 8,
    "albert_dropout_prob": 0,
    "dropout_prob": 0,
    "do_train": True,
    "do_predict": True,
}


@pytest.fixture
def tune(xlnet_tokenizer, xlnet_config, tmp_path):
    """Fine-tunes a tiny pretrained XLNet by a command; returns its output folder."""
    keras.utils.set_random_seed(1)
    config = xlnet_config(d_head=8, initializer_range=0.1, mem_len=6, bi_data=True)
    model = albert_tf.XLNetLMHeadModel(config)
    model.save_pretrained(tmp_path / "pretrained", xlnet_tokenizer)
    paths = {
        "init_checkpoint": "pretrained",
        "output_dir": "out",
        "export_dir": "served",
    }

    def run(options_class, **flags):
        values = {
            **_SIZES,
            **{n: tmp_path / path for n, path in paths.items()},
            **flags,
        }
        argv = [f"--{name}={value}" for name, value in values.items()]
        run_repeatedly(parse(options_class, ["run.py", *argv]))
        return tmp_path / "out"

    return run


def _write_questions(path, version):
    """Writes questions of which each names a word; the answer is the word after it."""
    words = _CONTEXT.split()
    ends = np.cumsum([len(word) + 1 for word in words])
    asked = [0, 3, 9, 10] if version == 1 else [3, 9, 10]
    qas = [
        {
            "id": str(place),
            "question": f"{words[place]} {words[place + 1]}",
            "answers": [{"text": words[place + 1], "answer_start": int(ends[place])}],
        }
        for place in asked
    ]
    if version == 2:
        for question in qas:
            question["is_impossible"] = False
        none = {"question": "is it", "is_impossible": True, "answers": []}
        qas += [{"id": f"none{i}", **none} for i in range(3)]
    data = {"data": [{"paragraphs": [{"context": _CONTEXT, "qas": qas}]}]}
    path.write_text(json.dumps(data))
    return qas


@pytest.mark.slow
@pytest.mark.parametrize("version", [pytest.param(1, marks=pytest.mark.nightly), 2])
def test_questions(tune, version, tmp_path):
    path = tmp_path / "questions.json"
    qas = _write_questions(path, version)
    out = tune(
        SquadOptions,
        train_file=path,
        predict_file=path,
        max_query_length=3,
        doc_stride=4,
        train_step=200,
        save_checkpoints_steps=200,
    )
    results = dict(
        line.split(" = ")
        for line in (out / "eval_results.txt").read_text().splitlines()
    )
    assert float(results["f1"]) >= 80
    answers = json.loads((out / "predictions.json").read_text())
    info = json.loads((out / "model" / "training_info.json").read_text())
    threshold = info["dev"].get("null_score_diff_threshold", 1e9)
    questions = [question["question"] for question in qas]
    for place in (out / "model", tmp_path / "served"):
        found = albert_tf.Predictor(place)(questions, [_CONTEXT] * len(questions))
        for question, own in zip(qas, found, strict=True):
            best = own["answers"][0]["answer"]
            is_none = version == 2 and own["no_answer_score"] >= threshold
            assert ("" if is_none else best) == answers[question["id"]]
            start, end = own["answers"][0]["start"], own["answers"][0]["end"]
            assert _CONTEXT[start:end] == best


@pytest.mark.nightly
@pytest.mark.slow
def test_choices(tune, tmp_path):
    rows = [
        {
            "id": str(i),
            "context": "the plot",
            "question": f"it {word} _",
            "label": i % 2,
        }
        for i, word in enumerate(["was", "is"] * 4)
    ]
    for row in rows:
        options = ["good", "bad film"]
        row["options"] = options if row["label"] == 0 else options[::-1]
    (tmp_path / "data").mkdir()
    for role in ("train", "dev", "test"):
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (tmp_path / "data" / f"{role}.jsonl").write_text(lines)
    out = tune(
        RaceOptions,
        task_name="custom",
        data_dir=tmp_path / "data",
        max_qa_length=6,
        do_eval=True,
    )
    assert "eval_accuracy = 1.0" in (out / "eval_results.txt").read_text()
    lines = map(json.loads, (out / "predictions.jsonl").read_text().splitlines())
    expected = [line["probabilities"] for line in lines]
    for place in (out / "model", tmp_path / "served"):
        found = albert_tf.Predictor(place)(
            question=[row["question"] for row in rows],
            context=[row["context"] for row in rows],
            options=[row["options"] for row in rows],
        )
        shares = [answer["probabilities"] for answer in found]
        np.testing.assert_allclose(shares, expected, atol=1e-5)


@pytest.mark.slow
def test_tags(tune, tmp_path):
    sentences = [
        "the/O film/B-IT was/O very/O good/B-ITS",
        "it/B-IT is/O not/O bad/B-ITS",
        # More than a window.
        " ".join(["the/O plot/B-IT was/O bad/B-ITS and/O"] * 4),
    ]
    (tmp_path / "data").mkdir()
    for role in ("train", "dev", "test"):
        lines = (s.replace(" ", "\n").replace("/", " ") + "\n\n" for s in sentences)
        (tmp_path / "data" / f"{role}.conll").write_text("".join(lines))
    out = tune(
        TaggingOptions,
        data_dir=tmp_path / "data",
        doc_stride=4,
        do_eval=True,
        train_step=60,
        save_checkpoints_steps=60,
    )
    assert "f1 = 1.0" in (out / "eval_results.txt").read_text()
    words = [[word.split("/") for word in s.split()] for s in sentences]
    texts = [" ".join(word for word, _ in pairs) for pairs in words]
    expected = [
        [(word, label[2:]) for word, label in pairs if label != "O"] for pairs in words
    ]
    for place in (out / "model", tmp_path / "served"):
        found = albert_tf.Predictor(place)(texts)
        entities = [
            [(entity["entity"], entity["label"]) for entity in answer["entities"]]
            for answer in found
        ]
        assert entities == expected
