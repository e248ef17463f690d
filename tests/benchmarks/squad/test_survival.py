"""Answers come back from their tokens as they are written."""

import pytest

from albert_tf.cli import command_line
from albert_tf.tasks.question_answering.questions import read_paragraphs
from albert_tf.tokenization import load_tokenizer
from benchmarks.squad.survival import LostAnswer
from benchmarks.squad.survival import Options
from benchmarks.squad.survival import lost_answers
from benchmarks.squad.survival import report

_PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdxyz", "##s", "##ish"]


@pytest.fixture
def vocab_file(tmp_path):
    path = tmp_path / "vocab.txt"
    path.write_text("\n".join(_PIECES))
    return path


def test_reasons(vocab_file, squad):
    context = "a  b cs d\u200b #xyz ish"
    answers = [
        ("b", 3),
        (" b ", 2),
        ("c", 5),
        ("s d", 6),
        ("yz", 12),
        ("\u200b", 9),
        ("d", 4),
        ("d\u200b", 8),
        ("x", 12),
    ]
    path = squad((context, [("1", "x", answers)]))
    count, lost = lost_answers(read_paragraphs(path), load_tokenizer(vocab_file))
    assert count == 9
    assert lost == [
        LostAnswer("1", " b ", "b", "it has white space at its ends"),
        LostAnswer("1", "yz", "", "it is not where its answer_start says"),
        LostAnswer("1", "\u200b", "", "the tokenizer leaves nothing of it"),
        LostAnswer("1", "d", "", "it is not where its answer_start says"),
        LostAnswer(
            "1", "d\u200b", "d", "it has characters at an end that the tokenizer drops"
        ),
        LostAnswer("1", "x", "xyz", "it ends inside a token"),
    ]


@pytest.mark.nightly
def test_real_answers(shared, english):
    path = shared("data/squad/dev-v1.1.json")
    count, lost = lost_answers(read_paragraphs(path), english)
    assert len(lost) <= 0.005 * count
    assert all("inside a token" in answer.reason for answer in lost)


def test_the_command_prints_the_share_and_the_rest(vocab_file, squad, capsys):
    path = squad(("a B cs xyz", [("1", "x", [("a", 0), ("c", 4), ("xy", 7)])]))
    flags = [f"--predict_file={path}", f"--vocab_file={vocab_file}"]
    command_line.run(Options, report, argv=["survival", *flags])
    assert capsys.readouterr().out.splitlines() == [
        "2 of 3 answers come back from their tokens (66.667%)",
        "1: 'xy' becomes 'xyz', since it ends inside a token",
    ]
