"""Reading with an XLNet: to files and answers."""

import json

import keras
import numpy as np
import pytest

import albert_tf
from albert_tf.cli.command_line import parse
from albert_tf.tasks.commands.run import run_repeatedly
from albert_tf.tasks.question_answering.flags import SquadOptions

_CONTEXT = "the film was very good and the plot was not very bad"
_FLAGS = {
    "max_seq_length": 14,
    "max_query_length": 3,
    "doc_stride": 4,
    "train_step": 10,
    "save_checkpoints_steps": 10,
    "learning_rate": 1e-2,
    "train_batch_size": 8,
    "do_train": True,
    "do_predict": True,
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


@pytest.mark.slow
def test_questions(xlnet_tokenizer, xlnet_config, tmp_path):
    keras.utils.set_random_seed(1)
    config = xlnet_config(
        n_layer=1, d_head=8, initializer_range=0.1, mem_len=6, bi_data=True
    )
    model = albert_tf.XLNetLMHeadModel(config)
    model.save_pretrained(tmp_path / "pretrained", xlnet_tokenizer)
    path, out = tmp_path / "questions.json", tmp_path / "out"
    qas = _write_questions(path)
    places = {
        "init_checkpoint": tmp_path / "pretrained",
        "output_dir": out,
        "train_file": path,
        "predict_file": path,
    }
    argv = [f"--{name}={value}" for name, value in {**_FLAGS, **places}.items()]
    run_repeatedly(parse(SquadOptions, ["run.py", *argv]))
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
