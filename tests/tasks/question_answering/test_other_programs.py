"""Models that other programs fine-tuned answer without training info of ours."""

import json

import pytest

from albert_tf.tasks.question_answering.flags import SquadOptions


@pytest.mark.slow
def test_a_head_of_questions_says_enough(opened, command, squad, tmp_path, caplog):
    caplog.set_level("INFO", "absl")
    served = opened("question_answering")
    served.model.save_pretrained(tmp_path / "theirs", served.tokenizer, format="tf1")
    context = "a film , not good . it is a bad one . was the plot good ?"
    sizes = {"max_seq_length": 20, "doc_stride": 5, "max_query_length": 6}
    run = command(
        SquadOptions,
        predict_file=squad((context, [("1", "is it good ?", [("bad", 28)])])),
        output_dir=tmp_path / "out",
        do_predict=True,
        n_best_size=6,
        max_answer_length=4,
    )

    def answers(model, **changes):
        out = run(init_checkpoint=model, **{**sizes, **changes})
        return json.loads((out / "nbest_predictions.json").read_text())["1"]

    found = answers(tmp_path / "theirs")
    # What training recorded, no flag changes; of theirs only the flags can tell.
    others = {"doc_stride": 1, "max_query_length": 3, "max_seq_length": 12}
    assert answers(served.folder, **others) == found
    assert (
        f"{served.folder} is applied with its own max_seq_length=20 (not 12), "
        "doc_stride=5 (not 1), max_query_length=6 (not 3)."
    ) in caplog.text
    assert answers(tmp_path / "theirs", **others) != found
    assert "theirs is applied with its own" not in caplog.text
