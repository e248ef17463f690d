"""Examples read of files: digests that runs store, and the files of a folder."""

import numpy as np
import pytest

from albert_tf.errors import UserError
from albert_tf.tasks.examples import Table
from albert_tf.tasks.examples import files_by_role
from albert_tf.tasks.examples import of_role
from albert_tf.tasks.multiple_choice import questions
from albert_tf.tasks.question_answering.questions import Answer
from albert_tf.tasks.question_answering.questions import Paragraph
from albert_tf.tasks.question_answering.questions import Question
from albert_tf.tasks.question_answering.questions import QuestionFile
from albert_tf.tasks.tagging.sentences import Sentence
from albert_tf.tasks.tagging.sentences import TagFile

_CHOICE = questions.Question("1", "a b", "what?", ("x", "y"), 1, "high")
_SENTENCE = Sentence("1", "a b", ((0, 1), (2, 3)), (("PER", 0, 1),))
_ASKED = Question("1", "who?", (Answer("b", 2),))
_IDS = np.array([1, 0], np.int32)


@pytest.mark.parametrize(
    ("examples", "digest"),
    [
        (Table("t", ["a", "b"], ["c", "d"], _IDS, np.arange(2)), "be060cf37387dc7e"),
        (questions.ChoiceFile("c", (_CHOICE,)), "aa8ac413b67b2167"),
        (TagFile("s", (_SENTENCE,), "tokens"), "08d766fb3e022fdc"),
        (QuestionFile("q", (Paragraph("a b", (_ASKED,), "t"),)), "78a98c930f3f0f97"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_digests_are_those_that_earlier_runs_store(examples, digest):
    assert examples.digest().startswith(digest)
    assert examples.inputs_digest() != examples.digest()
    assert (examples.is_labelled, len(examples) > 0) == (True, True)
    assert of_role({"a": examples}, "dev") == {"a": examples}
    assert of_role({"a": examples}, "test") == {}


def test_files_of_a_folder(tmp_path):
    for name in ("train.TSV", "dev.csv", "test.txt", "other.tsv"):
        (tmp_path / name).touch()
    found = files_by_role(tmp_path, (".tsv", ".csv"), ("train",))
    assert {r: path.name for r, path in found.items()} == {
        "train": "train.TSV",
        "dev": "dev.csv",
    }
    with pytest.raises(UserError, match=r"has no test.tsv or test.csv; name the fold"):
        files_by_role(tmp_path, (".tsv", ".csv"), ("test",))
    with pytest.raises(UserError, match=r"has no test.csv; name the folder of the tes"):
        files_by_role(tmp_path, (".tsv", ".csv"), ("test",), (".csv",))
    (tmp_path / "train.csv").touch()
    with pytest.raises(UserError, match=r"has train.TSV and train.csv; keep one of"):
        files_by_role(tmp_path, (".tsv", ".csv"), ())
