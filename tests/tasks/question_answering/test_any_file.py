"""Any file of questions is read as it stands, or refused."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from albert_tf.errors import UserError
from albert_tf.tasks.question_answering.questions import question_file
from albert_tf.tasks.question_answering.questions import read_paragraphs
from albert_tf.tasks.question_answering.questions import read_question_file
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


@given(
    data=json_files(_FILE),
    version=st.sampled_from([1, 2]),
    role=st.sampled_from(["train", "dev", "test"]),
)
def test_questions_that_are_kept_can_be_used(folder, data, version, role):
    path = folder / "split.json"
    path.write_bytes(data)
    try:
        found = question_file(
            read_question_file(path), version, role, skip_bad_rows=True
        )
    except UserError as error:
        assert str(path) in str(error)
        with pytest.raises(UserError):
            question_file(read_question_file(path), version, role)
        return
    assert len(found) == len(found.questions) == len(found.contexts) > 0
    for question, context in zip(found.questions, found.contexts, strict=True):
        if role == "train":
            assert question.answers or question.is_impossible
            assert all(a.is_in(context) and a.text.strip() for a in question.answers)
        if version == 1 and role != "test":
            assert question.answers
    try:
        strict = question_file(read_question_file(path), version, role)
    except UserError:
        assert found.num_skipped
    else:
        assert strict.digest() == found.digest()
