"""Models that other programs fine-tuned answer without training info of ours."""

import json

import pytest

from albert_tf.cli import command_line
from albert_tf.models.question_answering import AlbertForAnswerableQuestions
from albert_tf.models.question_answering import AlbertForQuestionAnswering
from albert_tf.tasks.classification import flags as classification
from albert_tf.tasks.commands.run import run_repeatedly
from albert_tf.tasks.question_answering.flags import SquadOptions
from albert_tf.tokenization import load_tokenizer

_PIECES = ["after", "?", *"abcdefgh"]
_PARAGRAPH = ("a b c d e f g h", [("1", "after a ?", [("b", 2)])])


@pytest.fixture
def vocab(tmp_path, vocabulary):
    path = tmp_path / "vocab.txt"
    path.write_text(vocabulary(_PIECES))
    return path


@pytest.fixture
def config(tiny_config):
    sizes = {"vocab_size": 5 + len(_PIECES), "max_position_embeddings": 24}
    return tiny_config(**sizes, initializer_range=0.5)


@pytest.fixture
def answer(tmp_path, squad):
    """Answers one question with a model; returns predictions.json."""
    data = squad(_PARAGRAPH)

    def run(model, name, **changes):
        out = tmp_path / name
        flags = {
            "init_checkpoint": model,
            "predict_file": data,
            "output_dir": out,
            "do_predict": True,
            "max_seq_length": 16,
            "doc_stride": 4,
            "max_query_length": 4,
            **changes,
        }
        argv = [f"--{flag}={value}" for flag, value in flags.items()]
        run_repeatedly(command_line.parse(SquadOptions, ["run_squad.py", *argv]))
        return json.loads((out / "nbest_predictions.json").read_text())

    return run


@pytest.mark.slow
@pytest.mark.parametrize(
    "form", ["huggingface", pytest.param("tf1", marks=pytest.mark.nightly)]
)
def test_a_head_of_questions_says_enough(form, config, vocab, answer, tmp_path, caplog):
    caplog.set_level("INFO", "absl")
    model, tokenizer = AlbertForQuestionAnswering(config), load_tokenizer(vocab)
    task = {"kind": "squad_v1", "name": "squad", "doc_stride": 4, "max_query_length": 4}
    info = {"task": task, "max_seq_length": 16}
    model.save_pretrained(tmp_path / "ours", tokenizer, info)
    model.save_pretrained(tmp_path / "theirs", tokenizer, format=form)
    found = answer(tmp_path / "theirs", "found")
    assert len(found["1"]) > 1
    # What training recorded, no flag changes; of theirs only the flags can tell.
    sizes = {"doc_stride": 1, "max_query_length": 3, "max_seq_length": 12}
    expected = answer(tmp_path / "ours", "expected", **sizes)
    assert [c["text"] for c in found["1"]] == [c["text"] for c in expected["1"]]
    assert (
        f"{tmp_path / 'ours'} is applied with its own max_seq_length=16 (not 12), "
        "doc_stride=4 (not 1), max_query_length=4 (not 3)."
    ) in caplog.text
    assert answer(tmp_path / "theirs", "other", doc_stride=1, max_seq_length=9) != found
    assert "theirs is applied with its own" not in caplog.text


@pytest.mark.slow
def test_the_beams_are_those_of_the_flags(config, vocab, answer, tmp_path):
    model, tokenizer = AlbertForAnswerableQuestions(config), load_tokenizer(vocab)
    model.save_pretrained(tmp_path / "theirs", tokenizer, format="tf1")
    beams = {"null_score_diff_threshold": 0.0, "n_best_size": 100}
    counts = {
        width: len(
            answer(
                tmp_path / "theirs",
                f"beams{width}",
                start_n_top=width,
                end_n_top=width,
                **beams,
            )["1"]
        )
        for width in (2, 5)
    }
    assert counts[2] < counts[5]


def test_a_model_of_questions_classifies_nothing(saved_model, tmp_path, capfd):
    model, out = saved_model("question_answering"), tmp_path / "out"
    flags = [f"--init_checkpoint={model}", f"--output_dir={out}", "--input_text=a b"]
    with pytest.raises(SystemExit):
        classification.main(["run_classifier.py", *flags, "--do_predict"])
    error = capfd.readouterr().err
    assert "was fine-tuned for squad_v1; apply it with the command" in error
