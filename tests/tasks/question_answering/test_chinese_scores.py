"""Exact match and F1 of Chinese answers, as in CMRC 2018's own script."""

import json

import pytest

from albert_tf.tasks.question_answering import evaluate
from albert_tf.tasks.question_answering import scores
from albert_tf.tasks.question_answering.questions import Answer
from albert_tf.tasks.question_answering.questions import Question


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
def test_one_answer(gold, predicted, exact, f1):
    assert scores.exact_match(gold, predicted, scores.CHARACTERS) == exact
    found = scores.f1(gold, predicted, scores.CHARACTERS)
    assert found == pytest.approx(f1)


@pytest.mark.parametrize(
    ("texts", "found"),
    [
        (["青岚大学在哪里？", "1984"], True),
        (["唐", "?"], True),
        (["谁和ω-force开发了战国无双？", "光荣"], True),
        (["Who wrote 紅樓夢?", "曹雪芹"], False),
        (["首都はどこですか。", "東京"], False),
        (["東京駅はどこ", "千代田区丸の内一丁目東京都千代田区"], False),
        (["เมืองหลวงคือ", "กรุงเทพ"], False),
        (["12", "?"], False),
        ([], False),
    ],
)
def test_which_files_are_chinese(texts, found):
    assert scores.is_chinese(texts) is found


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

    def figures(*flags):
        evaluate.main(["evaluate", data, str(path), *flags])
        found = capsys.readouterr()
        return json.loads(found.out)["f1"], "F1 is of characters" in found.err

    assert figures() == (pytest.approx(200 / 3), True)
    assert figures("--unit=words") == (0, False)
    assert figures("--unit=characters") == (pytest.approx(200 / 3), True)
