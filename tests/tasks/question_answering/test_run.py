"""run_squad from flags to files, on questions that a tiny model learns by heart."""

import json
import random
from unittest import mock

import pytest

from albert_tf.checkpoints.model_directory import read_head
from albert_tf.cli.command_line import parse
from albert_tf.errors import UserError
from albert_tf.optimizers.flags import OptimizerFlags
from albert_tf.tasks.commands.run import run_repeatedly
from albert_tf.tasks.question_answering import answers as answering
from albert_tf.tasks.question_answering.answers import NBEST
from albert_tf.tasks.question_answering.flags import SquadOptions

_WORDS = [f"{a}{b}" for a in "bdfgklmn" for b in "aeiou"]
_PIECES = ["after", "?", *_WORDS]
_SIZES = {
    "embedding_size": 32,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "intermediate_size": 64,
}


def paragraphs(count, impossible=False):
    """Paragraphs of words, each with two questions: which word is after this one?"""
    chance = random.Random(3)
    found = []
    for number in range(count):
        words = chance.sample(_WORDS, 8)
        context = " ".join(words)
        asked = []
        for place in chance.sample(range(7), 2):
            answer = words[place + 1]
            answers = [(answer, context.index(answer))]
            asked.append((f"{number}-{place}", f"after {words[place]} ?", answers))
        if impossible:
            missing = next(word for word in _WORDS if word not in words)
            asked[1] = (f"{number}-none", f"after {missing} ?", None)
        found.append((context, asked))
    return found


@pytest.fixture
def flags(tmp_path, squad, tiny_model):
    """Runs the command with flags; the defaults are a complete tiny task."""
    data = squad(*paragraphs(32))
    defaults = {
        "train_file": data,
        "predict_file": data,
        **tiny_model(_PIECES, **_SIZES),
        "max_seq_length": 12,
        "doc_stride": 3,
        "max_query_length": 4,
        "train_batch_size": 32,
        "num_train_epochs": 200,
        "save_checkpoints_steps": 1000,
        "learning_rate": 3e-3,
        "albert_dropout_prob": 0,
    }

    def run_flags(**changes):
        values = {**defaults, **changes}
        argv = [f"--{k}={v}" for k, v in values.items() if v is not None]
        run_repeatedly(parse(SquadOptions, ["run_squad.py", *argv]))
        return tmp_path / "out"

    return run_flags


def results(out):
    lines = (out / "eval_results.txt").read_text().splitlines()
    return {key: float(value) for key, value in (line.split(" = ") for line in lines)}


def read(path):
    return json.loads(path.read_text())


def unanswered(count):
    """The paragraphs of a test set: nothing says what the answers are."""
    return [
        (context, [(identity, question, []) for identity, question, _ in asked])
        for context, asked in paragraphs(count)
    ]


def expected(count, impossible=False):
    return {
        identity: answers[0][0] if answers else ""
        for _, asked in paragraphs(count, impossible)
        for identity, _, answers in asked
    }


@pytest.mark.slow
def test_learned_by_heart_and_found_again(flags, squad, tmp_path, monkeypatch):
    out = flags(do_train=True, do_predict=True)
    scores = results(out)
    assert scores["exact_match"] >= 95
    # 64 questions in batches of 32; each has two windows or more.
    assert scores["global_step"] == scores["last_step"] == 2 * 200
    answers = read(out / "predictions.json")
    gold = expected(32)
    right = sum(answers[identity] == gold[identity] for identity in gold)
    assert answers.keys() == gold.keys()
    assert right == round(scores["exact_match"] * 0.64)
    assert read(out / "nbest_predictions.json").keys() == gold.keys()
    assert not (out / "null_odds.json").exists()
    page = (out / "dev_errors.html").read_text()
    assert f"{64 - right} of 64 answers are not exactly right" in page
    info = read(out / "model" / "training_info.json")
    assert info["task"]["kind"] == "squad_v1"
    assert (info["task"]["doc_stride"], info["max_seq_length"]) == (3, 12)

    before = {path: path.stat().st_mtime_ns for path in out.glob("model/*")}
    ranked = mock.Mock(wraps=answering.predict)
    monkeypatch.setattr(answering, "predict", ranked)
    flags(do_train=True, do_predict=True)  # finished: nothing to train
    ranked.assert_called_once()  # for the figures and for all files
    assert {path: path.stat().st_mtime_ns for path in out.glob("model/*")} == before
    assert results(out) == scores
    with pytest.raises(UserError, match="doc_stride"):
        flags(do_train=True, doc_stride=2)

    test = squad(*unanswered(32), name="test.json")
    other = tmp_path / "other"
    model = {"init_checkpoint": out / "model", "from_scratch": None}
    # The windows are those of training, whatever the flags say.
    flags(do_predict=True, predict_file=test, output_dir=other, doc_stride=1, **model)
    assert read(other / "predictions.json") == answers
    assert not (other / "eval_results.txt").exists()
    test = {"do_predict": True, "predict_file": test, "output_dir": other, **model}
    flags(max_answer_length=1, **test)
    found = [c["text"] for n_best in read(other / NBEST).values() for c in n_best]
    assert not any(" " in text for text in found)
    flags(n_best_size=1, **test)
    assert {len(n_best) for n_best in read(other / NBEST).values()} == {1}
    with pytest.raises(UserError, match="test.json has no answers, and cannot be"):
        flags(do_eval=True, predict_file=test["predict_file"])
    version_2 = squad(*paragraphs(2, impossible=True), name="v2.json")
    with pytest.raises(UserError, match="v2.json looks like SQuAD 2.0: 2 of"):
        flags(do_eval=True, predict_file=version_2)
    with pytest.raises(UserError, match="fine-tuned for squad_v1, but the task squad"):
        flags(do_eval=True, predict_file=version_2, version=2)


@pytest.mark.slow
def test_questions_without_answers(flags, squad, tmp_path):
    data = squad(*paragraphs(8, impossible=True), name="v2.json")
    changes = {"start_n_top": 2, "end_n_top": 3, "train_batch_size": 16}
    files = {"train_file": data, "predict_file": data}
    out = flags(do_train=True, do_eval=True, **files, **changes)
    scores = results(out)
    assert scores["exact"] >= 90
    assert (scores["HasAns_total"], scores["NoAns_total"]) == (8, 8)
    assert scores["null_score_diff_threshold_was_given"] == 0
    answers, odds = read(out / "predictions.json"), read(out / "null_odds.json")
    chosen = scores["null_score_diff_threshold"]
    assert all((odds[i] >= chosen) == (answers[i] == "") for i in answers)
    head = read_head(out / "model")[1]
    assert (head["start_n_top"], head["end_n_top"]) == (2, 3)

    # Without answers to choose it on, the threshold is that of training.
    model = {"init_checkpoint": out / "model", "from_scratch": None}
    other = tmp_path / "other"
    unknown = [(c, [(i, q, []) for i, q, _ in a]) for c, a in paragraphs(8, True)]
    test = {"predict_file": squad(*unknown, name="test.json"), "output_dir": other}
    flags(do_predict=True, **test, **model)
    assert read(other / "predictions.json") == answers
    flags(do_predict=True, null_score_diff_threshold=-1e9, **test, **model)
    assert set(read(other / "predictions.json").values()) == {""}
    flags(do_eval=True, null_score_diff_threshold=1e9, predict_file=data, **model)
    given = results(out)
    assert given["null_score_diff_threshold_was_given"] == 1
    assert given["NoAns_exact"] < 50 < scores["NoAns_exact"]


@pytest.mark.slow
def test_interrupted_training_goes_on(flags, continues_exactly):
    continues_exactly(flags, num_train_epochs=2)


@pytest.mark.parametrize(
    ("changes", "steps", "warmup"),
    [
        ({"num_train_epochs": 1.5}, 3, 0),
        ({"num_train_epochs": 5, "warmup_proportion": 0.5}, 10, 5),
        ({"train_step": 4, "warmup_proportion": 0.3}, 4, 1),
        ({"train_step": 4, "warmup_step": 3}, 4, 3),
    ],
)
def test_steps(flags, monkeypatch, changes, steps, warmup):
    class Made(Exception):
        pass

    def create(self, num_train_steps, num_warmup_steps, **kwargs):
        raise Made(num_train_steps, num_warmup_steps)

    monkeypatch.setattr(OptimizerFlags, "create", create)
    with pytest.raises(Made) as made:
        flags(do_train=True, **changes)
    assert made.value.args == (steps, warmup)


def test_bad_rows_are_counted_and_left_out(flags, squad, caplog):
    good = ("ba be bi", [("good", "after ba ?", [("be", 3)])])
    bad = ("ba be bi", [("bad", "after be ?", [("bi", 0)])])
    data = squad(good, bad, name="bad.json")
    changes = {"do_train": True, "train_file": data, "train_step": 1}
    changes["train_batch_size"] = 1
    message = "bad.json: an answer is not where .* in 1 question of 2 .bad.; correct"
    with pytest.raises(UserError, match=message):
        flags(**changes)
    flags(**changes, skip_bad_rows=True)
    assert "1 bad rows left out, 1 kept" in caplog.text


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"do_train": False}, "Nothing to do"),
        ({"train_file": None}, "--do_train needs --train_file"),
        ({"predict_file": None}, "--predict_file is needed"),
        ({"predict_file": "missing.json"}, "missing.json cannot be read"),
        ({"version": 1, "null_score_diff_threshold": 1.0}, "is for --version=2"),
        ({"null_score_diff_threshold": 1.0}, "is for SQuAD 2.0"),
        ({"version": 2, "max_seq_length": 5, "start_n_top": 7}, "is less than start"),
        ({"max_query_length": 10}, "leaves no room for a paragraph"),
        ({"output_dir": "gs://bucket/out"}, "output_dir"),
    ],
)
def test_flags_that_do_not_fit(flags, changes, message):
    with pytest.raises(UserError, match=message) as error:
        flags(**{"do_train": True, **changes})
    assert "\n" not in str(error.value)


def test_files_that_do_not_fit(flags, squad, vocabulary, tmp_path):
    other = tmp_path / "other.json"
    other.write_text('{"questions": []}')
    version_2 = squad(*paragraphs(1, impossible=True), name="v2.json")
    for name, message in (
        (other, "other.json is not in SQuAD's layout"),
        (version_2, "v2.json looks like SQuAD 2.0: 1 of its 2"),
    ):
        for flag in ("train_file", "predict_file"):
            with pytest.raises(UserError, match=message):
                flags(do_train=True, version=1, **{flag: name})
    vocab = tmp_path / "other_vocab.txt"
    vocab.write_text(vocabulary([*_PIECES, "more"]))
    with pytest.raises(
        UserError, match="vocabulary has 48 pieces, but the model has 47"
    ):
        flags(do_train=True, vocab_file=vocab)
    asked = [("a", "after ba ?", [("be", 3)]), ("b", "after be ?", [])]
    partly = squad(("ba be", asked), name="partly.json")
    with pytest.raises(UserError, match="partly.json: there is no answer.* in 1 q"):
        flags(do_train=True, predict_file=partly)
