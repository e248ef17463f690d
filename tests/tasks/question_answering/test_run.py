"""run_squad from flags to files, on questions that a tiny model learns by heart."""

import json
import random
import types

import pytest

from albert_tf.errors import UserError
from albert_tf.optimizers.flags import OptimizerFlags
from albert_tf.tasks.question_answering import run
from albert_tf.tasks.question_answering.flags import SquadOptions
from albert_tf.tasks.registry import create_task
from tests.tasks.conftest import APPLIED
from tests.tasks.conftest import results

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
def flags(tmp_path, squad, tiny_model, command):
    """Runs the command with flags; the defaults are a complete tiny task."""
    data = squad(*paragraphs(32))
    return command(
        SquadOptions,
        train_file=data,
        predict_file=data,
        **tiny_model(_PIECES, **_SIZES),
        max_seq_length=12,
        doc_stride=3,
        max_query_length=4,
        train_batch_size=32,
        num_train_epochs=200,
        save_checkpoints_steps=1000,
        learning_rate=3e-3,
        albert_dropout_prob=0,
    )


def read(path):
    return json.loads(path.read_text())


def unanswered(count):
    """The paragraphs of a test set: nothing says what the answers are."""
    return [
        (context, [(identity, question, []) for identity, question, _ in asked])
        for context, asked in paragraphs(count)
    ]


def expected(count):
    return {
        identity: answers[0][0]
        for _, asked in paragraphs(count)
        for identity, _, answers in asked
    }


@pytest.mark.slow
def test_learned_by_heart_and_found_again(flags, squad, tmp_path):
    out = flags(do_train=True, do_predict=True)
    scores = results(out)
    assert scores["exact_match"] >= 95
    # 64 questions in batches of 32; each has two windows or more.
    assert scores["global_step"] == scores["last_step"] == 2 * 200
    answers, gold = read(out / "predictions.json"), expected(32)
    right = sum(answers[identity] == gold[identity] for identity in gold)
    assert answers.keys() == gold.keys()
    assert right == round(scores["exact_match"] * 0.64)
    assert read(out / "nbest_predictions.json").keys() == gold.keys()
    assert not (out / "null_odds.json").exists()
    page = (out / "dev_errors.html").read_text()
    assert f"{64 - right} of 64 answers are not exactly right" in page
    # The windows are those of training, whatever the flags say.
    test, other = squad(*unanswered(32), name="test.json"), tmp_path / "other"
    model = {**APPLIED, "init_checkpoint": out / "model"}
    flags(do_predict=True, predict_file=test, output_dir=other, doc_stride=1, **model)
    assert read(other / "predictions.json") == answers
    assert not (other / "eval_results.txt").exists()


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


def options(train_file, predict_file=None, **changes):
    files = {"train_file": str(train_file)}
    files["predict_file"] = str(predict_file or train_file)
    values = {"do_train": True, "output_dir": "out", **files, **changes}
    return SquadOptions(**values)


def test_flags_are_settings_of_the_task(squad):
    of_both = {"doc_stride": 3, "max_query_length": 4, "n_best_size": 5}
    of_both["max_answer_length"] = 6
    of_second = {"start_n_top": 2, "end_n_top": 3}
    changes = {**of_both, **of_second, "dropout_prob": 0.25}
    first, second = (
        run.read_files(options(squad(*paragraphs(2, impossible)), **changes), None)[0]
        for impossible in (False, True)
    )
    assert (first.kind, second.kind) == ("squad_v1", "squad_v2")
    assert of_both.items() <= first.to_dict().items()
    assert of_both.items() <= second.to_dict().items()
    assert of_second.items() <= second.model_arguments().items()
    assert second.head_dropout_prob == 0.25


def test_bad_rows_are_named_or_left_out(squad):
    good = ("ba be bi", [("good", "after ba ?", [("be", 3)])])
    bad = ("ba be bi", [("bad", "after be ?", [("bi", 0)])])
    data = squad(good, bad, name="bad.json")
    message = "bad.json: an answer is not where .* in 1 question of 2 .bad.; correct"
    with pytest.raises(UserError, match=message):
        run.read_files(options(data), None)
    _, examples = run.read_files(options(data, skip_bad_rows=True), None)
    assert [q.id for q in examples["train"].questions] == ["good"]
    assert examples["train"].num_skipped == 1


def test_a_threshold_is_a_flags_or_that_of_training(squad):
    tuned = create_task("squad_v2", "squad", doc_stride=3)
    opened = types.SimpleNamespace(path="model", facts={})
    test = squad(*unanswered(2), name="test.json")
    dev = squad(*paragraphs(2, impossible=True), name="dev.json")

    def threshold(file, facts=None, **changes):
        opened.facts = {"dev": facts or {}}
        changes |= {"do_train": False, "do_predict": True}
        task, examples = run.read_files(options(file, **changes), (opened, tuned))
        assert [*examples] == ["test" if file == test else "dev"]
        return task.null_score_diff_threshold

    name = "null_score_diff_threshold"
    assert threshold(test, {name: 1.5}) == 1.5
    assert threshold(test, {name: 1.5}, **{name: 0.0}) == 0.0
    assert threshold(dev, {name: 1.5}) is None  # the best is chosen
    with pytest.raises(UserError, match="test.json has no answers and model knows no"):
        threshold(test)
    message = "fine-tuned for squad_v2, but the task squad"
    with pytest.raises(UserError, match=message):
        threshold(squad(*paragraphs(2)), version=1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"version": 1, "null_score_diff_threshold": 1.0}, "is for --version=2"),
        ({"null_score_diff_threshold": 1.0}, "is for SQuAD 2.0"),
        ({"version": 2, "max_seq_length": 5, "start_n_top": 7}, "is less than start"),
    ],
)
def test_flags_that_do_not_fit(flags, changes, message):
    with pytest.raises(UserError, match=message):
        flags(**{"do_train": True, **changes})


def test_files_that_do_not_fit(squad):
    good = squad(*paragraphs(1))
    second = squad(*paragraphs(1, impossible=True), name="v2.json")
    with pytest.raises(UserError, match="v2.json looks like SQuAD 2.0: 1 of its 2"):
        run.read_files(options(good, second, version=1), None)
    asked = [("a", "after ba ?", [("be", 3)]), ("b", "after be ?", [])]
    partly = squad(("ba be", asked), name="partly.json")
    with pytest.raises(UserError, match="partly.json: there is no answer.* in 1 q"):
        run.read_files(options(good, partly), None)
    test = squad(*unanswered(2), name="test.json")
    for step in ({}, {"do_train": False, "do_eval": True}):
        with pytest.raises(UserError, match="test.json has no answers, and cannot be"):
            run.read_files(options(good, test, **step), None)


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
