"""Any file of questions is read as it stands, or refused."""

import json

import pytest
from hypothesis import given

from albert_tf.errors import UserError
from albert_tf.tasks.question_answering.questions import read_paragraphs
from tools.fuzz.inputs import json_files

_ANSWER = {"text": "b c", "answer_start": 2}
_QUESTIONS = [
    {"id": "1", "question": "a ?", "answers": [_ANSWER]},
    {"id": "2", "question": "b ?", "is_impossible": True, "answers": []},
]
_FILE = {
    "version": "v2.0",
    "data": [{"title": "t", "paragraphs": [{"context": "a b c", "qas": _QUESTIONS}]}],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("questions")


@given(data=json_files(_FILE))
def test_paragraphs_are_those_of_the_file_or_refused(folder, data):
    path = folder / "squad.json"
    path.write_bytes(data)
    try:
        paragraphs = list(read_paragraphs(path))
    except UserError as error:
        assert str(path) in str(error)
        assert len(str(error).splitlines()) == 1
        return
    expected = [
        p for article in json.loads(data)["data"] for p in article["paragraphs"]
    ]
    assert [p.context for p in paragraphs] == [p["context"] for p in expected]
    for paragraph, one in zip(paragraphs, expected, strict=True):
        for question, qa in zip(paragraph.questions, one["qas"], strict=True):
            answers = [] if qa.get("is_impossible") else qa.get("answers", [])
            assert (question.id, question.text) == (qa["id"], qa["question"])
            assert [(a.text, a.start) for a in question.answers] == [
                (a["text"], a["answer_start"]) for a in answers
            ]
