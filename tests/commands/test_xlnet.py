"""From raw text to a served XLNet that answers questions, as docs/xlnet.md says."""

import json

import pytest

import albert_tf
from tests.commands.five_commands import QUESTION
from tests.commands.five_commands import TEXT
from tests.commands.five_commands import run_commands

_CONFIG = {
    "n_token": 40,
    "d_model": 16,
    "n_layer": 2,
    "n_head": 2,
    "d_head": 8,
    "d_inner": 32,
    "mem_len": 8,
    "reuse_len": 16,
}
_SMALL = {"data_pipeline.train_tokenizer": {"vocab_size": 40}}


@pytest.mark.nightly
@pytest.mark.slow
def test_a_served_model_answers(tmp_path, project):
    run_commands(tmp_path, project, "xlnet.md", _SMALL, _CONFIG)
    served = albert_tf.Predictor(tmp_path / "served")
    found = served(**QUESTION)
    assert found["answer"] in TEXT
    same = albert_tf.Predictor(tmp_path / "answers" / "model")
    assert same(**QUESTION)["answer"] == found["answer"]
    [answer] = json.loads(
        (tmp_path / "answers" / "predictions.json").read_text()
    ).values()
    asked = {**QUESTION, "context": TEXT.strip()}
    assert served(**asked)["answer"] == answer
    model = albert_tf.XLNetForQuestionAnsweringSimple.from_pretrained(
        tmp_path / "answers" / "model"
    )
    assert model.config.mem_len == 8  # of pretraining, which answers do without
