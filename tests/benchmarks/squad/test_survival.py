"""Answers come back from their tokens as they are written."""

from albert_tf.cli import command_line
from benchmarks.squad.survival import Options
from benchmarks.squad.survival import report


def test_the_command_prints_the_share_and_the_rest(tmp_path, vocabulary, squad, capsys):
    vocab_file = tmp_path / "vocab.txt"
    vocab_file.write_text(vocabulary([*"abcxyz", "##s"]))
    path = squad(("a B cs xyz", [("1", "x", [("a", 0), ("c", 4), ("xy", 7)])]))
    flags = [f"--predict_file={path}", f"--vocab_file={vocab_file}"]
    command_line.run(Options, report, argv=["survival", *flags])
    assert capsys.readouterr().out.splitlines() == [
        "2 of 3 answers come back from their tokens (66.667%)",
        "1: 'xy' becomes 'xyz', since it ends inside a token",
    ]
