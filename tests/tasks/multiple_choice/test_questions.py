"""Files of questions: RACE in both layouts, C3, JSONL, and faults in them."""

import json

import pytest

from albert_tf.errors import UserError
from albert_tf.tasks.multiple_choice import questions

_ARTICLE = {
    "id": "high7.txt",
    "article": "a text",
    "questions": ["what ?", "_ ."],
    "options": [["a", "b", "c", "d"], ["e", "", "g", "h"]],
    "answers": ["B", "D"],
}
_QUESTION = {"context": "a text", "question": "what ?", "options": ["a", "b"]}


def read(parts, is_labelled=True, skip_bad_rows=False):
    return questions.read_questions(parts, "dev", is_labelled, skip_bad_rows)


@pytest.fixture
def race(tmp_path):
    """Writes an article of each level; returns the folder."""

    def write(high=_ARTICLE, middle=_ARTICLE, layout="files"):
        for level, article in (("high", high), ("middle", middle)):
            folder = tmp_path / "RACE" / "train" / level
            folder.mkdir(parents=True, exist_ok=True)
            data = article
            if isinstance(article, dict):
                data = json.dumps(article).encode()
            (folder / ("7.txt" if layout == "files" else "all.txt")).write_bytes(data)
        return tmp_path

    return write


def test_race(race):
    folder = race(middle={**_ARTICLE, "id": "middle1.txt"})
    for data_dir in (folder, folder / "RACE"):
        found = read(questions.race_parts(data_dir, "train"))
        assert [q.id for q in found.questions] == [
            "middle1.txt-0",
            "middle1.txt-1",
            "high7.txt-0",
            "high7.txt-1",
        ]
        assert found.labels.tolist() == [1, 3] * 2
        assert found.groups() == ["middle", "high"]
    question = found.questions[1]
    assert (question.context, question.text) == ("a text", "_ .")
    assert question.options == ("e", "", "g", "h")
    assert questions.race_parts(folder, "dev") == {}
    high = read(questions.race_parts(folder, "train", ["high"]))
    assert (len(high), high.groups()) == (2, [])


def test_all_txt_is_what_the_official_code_reads(race):
    race(layout="files")
    folder = race({**_ARTICLE, "id": "all"}, layout="all")
    assert "all-0" in [
        q.id for q in read(questions.race_parts(folder, "train")).questions
    ]
    assert len(read(questions.race_parts(folder, "train"))) == 4


@pytest.mark.parametrize(
    ("high", "message"),
    [
        ({"answers": ["B", "E"]}, "high/7.txt, question 2: the label is 4, expected"),
        ({"answers": ["B", "2"]}, "question 2: the answer is '2', expected a letter"),
        ({"answers": ["B"]}, "7.txt is no article of RACE .Val.*argument 3 is shorter"),
        (
            {"options": None},
            "7.txt is no article of RACE .TypeError.*; expected a JSON",
        ),
        ({"options": [["a"], ["b", "c"]]}, "the question has 1 option.s., expected 2"),
        ({"options": ["ab", ["b", "c"]]}, "question 1: the options are 'ab', not a l"),
        ({"article": None}, "question 1: the context is None, not a text"),
        (b"no", "7.txt is no article of RACE .*; expected"),
        (b"[]", "7.txt is no article of RACE .*; expected"),
        (b"\xff", "7.txt is not UTF-8"),
    ],
)
def test_bad_articles(race, high, message):
    folder = race(high if isinstance(high, bytes) else {**_ARTICLE, **high})
    with pytest.raises(UserError, match=message):
        read(questions.race_parts(folder, "train"))
    (folder / "RACE" / "train" / "high" / "7.txt").unlink()
    with pytest.raises(UserError, match="high has no article; expected all.txt, or"):
        read(questions.race_parts(folder, "train"))


def write_c3(folder, *documents, part="d"):
    path = folder / f"c3-{part}-train.json"
    path.write_text(json.dumps(documents), encoding="utf-8")


_C3 = {"question": "什么?", "choice": ["旅行", "工作"], "answer": "工作"}


def test_c3(tmp_path):
    assert questions.c3_parts(tmp_path, "train") == {}
    write_c3(tmp_path, [["男：你", "女：我"], [_C3, _C3], "47-1"])
    found = read(questions.c3_parts(tmp_path, "train"))
    assert [q.id for q in found.questions] == ["47-1-0", "47-1-1"]
    assert found.questions[0].context == "男：你\n女：我"
    assert (found.labels.tolist(), found.groups()) == ([1, 1], [])
    write_c3(tmp_path, [["文"], [_C3], "1"], part="m")
    found = read(questions.c3_parts(tmp_path, "train"))
    assert [q.group for q in found.questions] == ["dialogue", "dialogue", "mixed"]
    assert found.groups() == ["dialogue", "mixed"]


@pytest.mark.parametrize(
    ("document", "message", "is_question"),
    [
        ([["a"], [{**_C3, "answer": "家庭"}], "1"], "document '1', question 1", True),
        ([["a"], [{**_C3, "choice": ["工作", " "]}], "1"], "an option is empty", True),
        ([["a"], [{**_C3, "choice": None}], "1"], "the options are None", True),
        ([["a"], [{**_C3, "question": 1}], "1"], "the question is 1", True),
        # No result file could hold this id.
        ([["a"], [_C3], "\ud800"], "question 1: a text is not UTF-8", True),
        ([["a"], [_C3]], "document 1 is not a document of C3 .*; expected", False),
        ([[1], [_C3], "1"], "document 1 is not a document of C3", False),
        ([["a"], ["b"], "1"], "document 1 is not a document of C3", False),
        ([["a"], [], "1"], "holds no usable question", False),
    ],
)
def test_bad_documents(tmp_path, document, message, is_question):
    write_c3(tmp_path, document)
    with pytest.raises(UserError, match=message) as error:
        read(questions.c3_parts(tmp_path, "train"))
    str(error.value).encode()
    if is_question:
        write_c3(tmp_path, document, [["a"], [_C3], "2"])
        found = read(questions.c3_parts(tmp_path, "train"), skip_bad_rows=True)
        assert (len(found), found.num_skipped) == (1, 1)


def test_jsonl(write_jsonl):
    more = {"context": "b", "options": ["x", "y", "z"], "label": "z", "id": 12}
    path = write_jsonl("train.jsonl", [{**_QUESTION, "label": 1}, more])
    assert questions.jsonl_parts(path.parent, "dev") == {}
    first, second = read(questions.jsonl_parts(path.parent, "train")).questions
    assert (first.id, first.label, first.options) == ("0", 1, ("a", "b"))
    # Without a question, an option ends the context.
    assert (second.id, second.text, second.label) == ("12", "", 2)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"label": 2}, "train.jsonl, line 2: the label is 2, .* from 0 to 1"),
        ({"label": -2}, "the label is -2, expected"),
        ({"label": -1}, "line 2: the question has no label; correct the row, or leave"),
        ({"label": True}, "the label is True, expected the text of an option or"),
        ({"label": "c"}, "the answer 'c' is not one of the options"),
        ({}, "line 2: the question has no label; correct the row, or leave"),
        ({"options": []}, "the question has 0 option.s., expected 2 or more"),
        ({"options": ["a", ""]}, "an option is empty"),
        ({"options": ["a", 1]}, "the options are .'a', 1., not a list of texts"),
        ({"context": None}, "the context is None, not a text"),
        ({"context": "a\0b"}, "a text holds a NUL byte"),
        ({"context": "\ud800"}, "the line is not UTF-8, or holds half of a"),
    ],
)
def test_bad_lines(write_jsonl, changes, message):
    good = {**_QUESTION, "label": 0}
    bad = {**_QUESTION, **({"label": 0} if changes else {}), **changes}
    path = write_jsonl("train.jsonl", [good, bad])
    with pytest.raises(UserError, match=message):
        read(questions.jsonl_parts(path.parent, "train"))
    found = read(questions.jsonl_parts(path.parent, "train"), skip_bad_rows=True)
    assert (len(found), found.num_skipped) == (1, 1)


def test_labels_of_a_file_to_predict_are_not_kept(write_jsonl):
    path = write_jsonl("test.jsonl", [{**_QUESTION, "label": 0}] * 2)
    found = read(questions.jsonl_parts(path.parent, "test"), is_labelled=False)
    assert (len(found), found.labels) == (2, None)
