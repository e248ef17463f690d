"""Exact match and F1, as in SQuAD's own scripts and CMRC 2018's; the page of errors."""

import json
import re

import numpy as np
import pytest

from albert_tf.tasks.question_answering import answers
from albert_tf.tasks.question_answering import evaluate
from albert_tf.tasks.question_answering import scores
from albert_tf.tasks.question_answering.questions import Answer
from albert_tf.tasks.question_answering.questions import Paragraph
from albert_tf.tasks.question_answering.questions import Question
from albert_tf.tasks.question_answering.questions import QuestionFile
from albert_tf.tasks.question_answering.results import write_error_page
from albert_tf.tasks.registry import create_task


@pytest.mark.parametrize(
    ("gold", "predicted", "exact", "f1", "f1_or_none"),
    [
        ("The  Cat!", "cat", 1, 1, 1),
        ("a cat sat", "the cat ran", 0, 0.5, 0.5),
        ("cat cat dog", "cat dog dog bird", 0, 4 / 7, 4 / 7),
        ("", "", 1, 0, 1),
        ("The", "a", 1, 0, 1),
        ("cat", "", 0, 0, 0),
        ("athe", "the", 0, 0, 0),
        ("naïve «x»", "naive x", 0, 0, 0),
    ],
)
def test_one_answer(gold, predicted, exact, f1, f1_or_none):
    found = (own(gold, predicted) for own in (scores.f1, scores.f1_or_none))
    assert [*found] == pytest.approx([f1, f1_or_none])
    assert scores.exact_match(gold, predicted) == exact


@pytest.mark.parametrize(
    ("gold", "predicted", "exact", "f1"),
    [
        ("云溪市东湖区", "云溪市东湖区，", 1, 1),
        ("云溪市东湖区", "东湖区", 0, 2 / 3),
        # The longest run counts, not all characters: 东湖 of 6 and of 4.
        ("云溪市东湖区", "东湖云溪", 0, 0.4),
        # A character between them parts two runs.
        ("东湖", "东西湖", 0, 0.4),
        ("光荣和ω-force", "光荣和ωForce", 1, 1),
        # Words are wholes: of 2 Chinese characters and 2 words, 3 in a run.
        ("使用Windows 10", "使用windows 7", 0, 0.75),
        ("1,234名", "234名", 0, 0.5),
        ("《战国无双3》", "战国无双3", 1, 1),
        ("2.5", "2 5", 0, 0),
        ("唐僧", "悟空", 0, 0),
        ("唐僧", "", 0, 0),
    ],
)
def test_one_chinese_answer(gold, predicted, exact, f1):
    assert scores.exact_match(gold, predicted, scores.CHARACTERS) == exact
    assert scores.f1(gold, predicted, scores.CHARACTERS) == pytest.approx(f1)


@pytest.fixture
def files(squad, tmp_path):
    """Writes questions of the given answers, and what is predicted for them."""

    def write(golds, predictions, odds=None, **members):
        questions = [
            (identity, "q", None if texts is None else [(t, 0) for t in texts])
            for identity, texts in golds.items()
        ]
        paths = [squad(("context", questions), **members)]
        for name, values in (("predictions", predictions), ("odds", odds)):
            paths.append(tmp_path / f"{name}.json")
            paths[-1].write_text(json.dumps(values))
        return [str(path) for path in paths]

    return write


def printed(capsys, *arguments):
    evaluate.main(["evaluate", *arguments])
    return capsys.readouterr()


def test_version_1(files, capsys):
    golds = {"1": ["the cat", "a dog"], "2": ["bird"], "3": ["fish"]}
    data, predicted, _ = files(golds, {"1": "dog", "2": "one bird", "unknown": "x"})
    out = printed(capsys, data, predicted)
    # evaluate-v1.1.py: (1 + 0 + 0) / 3 and (1 + 2 / 3 + 0) / 3.
    assert out.out == '{"exact_match": 33.333333333333336, "f1": 55.55555555555555}\n'
    assert "no prediction for 1 question, which score 0: 3" in out.err
    data, predicted, _ = files({}, {})
    with pytest.raises(SystemExit):
        printed(capsys, data, predicted)
    assert "holds no question" in capsys.readouterr().err


GOLDS = {"a": ["cat"], "b": ["dog"], "c": None, "d": None, "e": ["red fish"]}
PREDICTIONS = {"a": "cat", "b": "bird", "c": "x", "d": "", "e": "fish"}
ODDS = {"a": -3.0, "b": 2.5, "c": 0.5, "d": 4, "e": 0.75, "of another file": -4}


def test_version_2(files, capsys):
    data, predicted, odds = files(GOLDS, PREDICTIONS, ODDS)
    found = printed(capsys, data, predicted)
    assert json.loads(found.out) == {
        "exact": 40.0,
        "f1": 100 * (1 + 0 + 0 + 1 + 2 / 3) / 5,
        "total": 5,
        "HasAns_exact": 100 / 3,
        "HasAns_f1": 100 * (1 + 2 / 3) / 3,
        "HasAns_total": 3,
        "NoAns_exact": 50.0,
        "NoAns_f1": 50.0,
        "NoAns_total": 2,
    }
    assert found.out.startswith('{\n  "exact": 40.0,\n  "f1": ')
    assert not found.err
    found = printed(capsys, data, predicted, f"--na-prob-file={odds}")
    figures = json.loads(found.out)
    # With odds above 1.0 b and d count as unanswered; c does not.
    assert (figures["exact"], figures["NoAns_exact"]) == (40.0, 50.0)
    # From 2 for nothing: a +1, c -1, e +0 or +2/3, b 0.
    assert (figures["best_exact"], figures["best_exact_thresh"]) == (60.0, -3.0)
    assert (figures["best_f1"], figures["best_f1_thresh"]) == (60.0, -3.0)
    assert "use thresholds chosen on " in found.err
    # e is above, c is not: "greater than".
    flags = ["--na-prob-file", odds, "--na-prob-thresh=0.5"]
    assert json.loads(printed(capsys, data, predicted, *flags).out)["f1"] == 40.0
    # c is at the threshold: "from this on".
    flags = [f"--na_prob_file={odds}", "--null_score_diff_threshold=0.5"]
    assert json.loads(printed(capsys, data, predicted, *flags).out)["exact"] == 60.0


def test_version_2_with_answers_only(files, capsys):
    for members, *flags in (
        ({"version": "v2.0"},),
        ({"version": 2.0},),
        ({}, "--version=2"),
    ):
        data, predicted, _ = files({"1": ["the"]}, {"1": "a"}, **members)
        figures = json.loads(printed(capsys, data, predicted, *flags).out)
        assert (figures["f1"], figures["HasAns_total"]) == (100.0, 1)
        assert "NoAns_total" not in figures


@pytest.mark.slow
def test_published_predictions(shared, capsys):
    data = shared("data/squad/dev-v1.1.json")
    predicted = shared("data/squad/predictions/logistic_regression_v1.1.json")
    figures = json.loads(printed(capsys, str(data), str(predicted)).out)
    assert figures == {"exact_match": 40.14191106906339, "f1": 50.98153647324482}


def test_figures_of_a_run():
    questions = [
        Question(identity, "q", tuple(Answer(text, 0) for text in texts or ()))
        for identity, texts in GOLDS.items()
    ]
    predictions = [
        answers.Prediction(i, [answers.Candidate(text, 0, 0, 0.0, 0.0)], ODDS[i])
        for i, text in PREDICTIONS.items()
    ]
    figures = scores.evaluate_version_2(questions, predictions)
    assert figures["null_score_diff_threshold"] == figures["best_f1_thresh"] == -3.0
    # The question at the threshold itself becomes unanswered, so this is not best_f1.
    assert (figures["f1"], figures["best_f1"]) == (40.0, 60.0)
    given = scores.evaluate_version_2(questions, predictions, 0.5)
    assert (given["exact"], given["NoAns_exact"]) == (60.0, 100.0)
    assert given["null_score_diff_threshold"] == 0.5
    was_given = "null_score_diff_threshold_was_given"
    tasks = [
        create_task("squad_v2", "t", null_score_diff_threshold=own)
        for own in (None, 0.5)
    ]
    for task, own, is_given in zip(tasks, (figures, given), (0, 1), strict=True):
        found = task.figures(questions, predictions)
        assert found == {**own, was_given: is_given}
    assert tasks[0].as_trained(figures).null_score_diff_threshold == -3.0
    assert tasks[1].as_trained(figures) == tasks[1]
    served = {"answers": ["a", ""], "scores": [0.9, 0], "start": [4, 0], "end": [5, 0]}
    for task, odds, answer in (
        (tasks[0], 9.0, "a"),
        (tasks[1], 0.25, "a"),
        (tasks[1], 0.5, ""),  # from the threshold on
    ):
        found = task.answer({**served, "no_answer_score": odds})
        best = {"answer": "a", "score": 0.9, "start": 4, "end": 5}
        assert found == {"answer": answer, "answers": [best], "no_answer_score": odds}
    nothing = {**dict.fromkeys(served, []), "no_answer_score": 0.0}
    assert tasks[0].answer(nothing)["answer"] == ""
    assert [task.meaning()["no_answer_score"] for task in tasks] == [
        "the score of giving no answer",
        "the score of giving no answer; in training, giving none was best from 0.5 on",
    ]
    figures = scores.evaluate_version_1(questions[:2], predictions)
    assert figures == {"exact_match": 50.0, "f1": 50.0}
    # Of texts without words SQuAD 1.1 knows no F1.
    questions = [Question("a", "q", (Answer("the", 0),))]
    predictions = [answers.Prediction("a", [answers.Candidate("a", 0, 1, 0.0, 0.0)])]
    figures = scores.evaluate_version_1(questions, predictions)
    assert figures == {"exact_match": 100.0, "f1": 0.0}


@pytest.mark.parametrize("name", ["v2", "edge"])
def test_official_figures_of_version_2(name, recorded, shared):
    folder = shared(f"fixtures/official_squad/answers_{name}_as_v2")
    facts = json.loads((folder / "metrics.json").read_text())
    windows = recorded(name)
    inputs = dict(np.load(folder / "inputs.npz"))
    limits = facts["n_best_size"], facts["max_answer_length"]
    predictions = answers.predict(windows, answers.beams_of_outputs(inputs), *limits)
    found = scores.evaluate_version_2(windows.questions, predictions)
    official, before = facts["evaluate_v2"], facts["before_threshold"]
    assert {key: found[key] for key in official} == official
    best = ("best_exact", "best_exact_thresh", "best_f1", "best_f1_thresh")
    assert [found[key] for key in best] == [before[key] for key in best]
    texts = {p.question_id: p.answer() for p in predictions}
    raw = scores.raw_scores(windows.questions, texts, version=2)
    odds = {p.question_id: p.null_odds for p in predictions}
    for more, expected in (((odds,), before), ((), facts["before_threshold_plain"])):
        figures = scores.version_2_figures(raw, *more)
        for key in ("exact", "f1", "total"):
            assert figures[key] == expected[key]


def test_which_files_are_chinese():
    are = [["青岚大学在哪里？", "1984"], ["唐", "?"]]
    are.append(["谁和ω-force开发了战国无双？", "光荣"])
    are.append(["唐" * 19 + "の", "?"])
    are_not = [["唐a", "?"], ["唐" * 18 + "の", "?"]]
    are_not += [["Who wrote 紅樓夢?", "曹雪芹"], ["首都はどこですか。", "東京"]]
    are_not.append(["東京駅はどこ", "千代田区丸の内一丁目東京都千代田区"])
    are_not += [["เมืองหลวงคือ", "กรุงเทพ"], ["12", "?"], []]
    for texts in are + are_not:
        assert scores.is_chinese(texts) is (texts in are), texts


def test_answers_of_nothing():
    questions = [
        Question("a", "谁？", (Answer("唐僧", 0),)),
        Question("b", "谁？", (), is_impossible=True),
    ]
    raw = scores.raw_scores(questions, {"a": "唐僧。", "b": "，"}, 2)
    assert [row[1] for row in raw.values()] == [1, 1]
    raw = scores.raw_scores(questions, {"a": "唐僧。", "b": ""}, 2, scores.WORDS)
    assert [row[1] for row in raw.values()] == [0, 1]


def test_the_command_chooses_by_the_script(squad, tmp_path, capsys):
    data = str(squad(("云溪市东湖区", [("1", "在哪里？", [("云溪市东湖区", 0)])])))
    path = tmp_path / "predictions.json"
    path.write_text(json.dumps({"1": "东湖区"}))
    for f1, told, *flags in (
        (200 / 3, True),
        (0, False, "--unit=words"),
        (200 / 3, True, "--unit=characters"),
    ):
        found = printed(capsys, data, str(path), *flags)
        assert json.loads(found.out)["f1"] == pytest.approx(f1)
        assert ("F1 is of characters" in found.err) == told


_CONTEXT = "a <b> cat & the dog"


@pytest.fixture
def page_of(tmp_path):
    """Writes a page of answers, places by question; its HTML and its paragraphs'."""

    def write(questions, predictions, version=1, threshold=None):
        path, found = tmp_path / "dev_errors.html", []
        asked = QuestionFile("x", (Paragraph(_CONTEXT, tuple(questions)),))
        for identity, (start, end, odds) in predictions.items():
            text = _CONTEXT[start:end] or "empty"
            best = answers.Candidate(text, start, end, 1.0, 1.0)
            found.append(answers.Prediction(identity, [best], odds))
        write_error_page(path, "a<b", asked, found, version, threshold)
        page = path.read_text(encoding="utf-8")
        return page, re.findall('<p class="context" dir="auto">(.*)</p>', page)

    return write


def test_spans_are_coloured(page_of):
    questions = [
        Question("1", "who & <what>?", (Answer("cat & the dog", 6), Answer("dog", 16))),
        Question("right", "who?", (Answer("cat", 6),)),
    ]
    legend = " In each paragraph"
    page, paragraphs = page_of(questions, {"1": (2, 9, None), "right": (6, 9, None)})
    assert paragraphs == [
        'a <mark class="predicted">&lt;b&gt; </mark><mark class="gold predicted">cat'
        '</mark><mark class="gold"> &amp; the </mark><mark class="gold">dog</mark>'
    ]
    for part in (
        "<title>a&lt;b</title>",
        f"1 of 2 answers are not exactly right.{legend}",
        "<bdi>who &amp; &lt;what&gt;?</bdi>",
        "Expected: <bdi>cat &amp; the dog</bdi> | <bdi>dog</bdi><br>"
        "Answered: <bdi>&lt;b&gt; cat</bdi><br>F1: 50.0",
    ):
        assert part in page
    # Without an error there are no colours to explain.
    page, _ = page_of(questions[1:], {"right": (6, 9, None)})
    assert "0 of 1 answers are not exactly right." in page and legend not in page


def test_no_answer(page_of):
    questions = [
        Question("1", "q", (Answer("cat", 6),)),
        Question("2", "q", is_impossible=True),
        Question("3", "q", (Answer("elsewhere", 6),)),
    ]
    predictions = {"1": (6, 9, 2.0), "2": (16, 19, 0.0), "3": (0, 0, 0.0)}
    page, paragraphs = page_of(questions, predictions, version=2, threshold=1.0)
    assert paragraphs == [
        'a &lt;b&gt; <mark class="gold">cat</mark> &amp; the dog',
        'a &lt;b&gt; cat &amp; the <mark class="predicted">dog</mark>',
        "a &lt;b&gt; cat &amp; the dog",
    ]
    for expected, answered in (
        ("<bdi>cat</bdi>", "<i>no answer</i>"),
        ("<i>no answer</i>", "<bdi>dog</bdi>"),
        ("<bdi>elsewhere</bdi>", "<bdi>empty</bdi>"),
    ):
        assert f"Expected: {expected}<br>Answered: {answered}<br>" in page
