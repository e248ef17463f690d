"""Pretrained, from scratch and constant answers, compared on tiny files."""

import dataclasses
import json

import pytest

from albert_tf.cli import command_line
from albert_tf.engine.reporting.summaries import read_eval_results
from albert_tf.errors import UserError
from albert_tf.models.albert import AlbertModel
from albert_tf.tasks.commands.run import run_repeatedly
from albert_tf.tasks.question_answering.flags import SquadOptions
from albert_tf.tasks.question_answering.questions import read_paragraphs
from albert_tf.tokenization import load_tokenizer
from benchmarks import pretraining_gain
from benchmarks.squad import results

_PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefgh"]


@pytest.fixture
def data_file(squad):
    """Four articles of a paragraph each, with a question."""
    articles = []
    for name in "abcd":
        path = squad((f"{name} b c", [(name, "h ?", [("b", 2), ("c", 4)])]))
        articles += json.loads(path.read_text())["data"]
    path.write_text(json.dumps({"data": articles}))
    return path


@pytest.fixture
def options(data_file, tmp_path, tiny_config):
    """The options of a tiny comparison."""
    vocab = tmp_path / "vocab.txt"
    vocab.write_text("\n".join(_PIECES))
    config = tiny_config(vocab_size=len(_PIECES), num_hidden_layers=1)
    AlbertModel(config).save_pretrained(tmp_path / "mine", load_tokenizer(vocab))
    return results.Options(
        data_file=str(data_file),
        model_dirs=str(tmp_path / "mine"),
        output_dir=str(tmp_path / "results"),
        scored_articles=2,
        num_runs=1,
        train_step=3,
        train_batch_size=2,
        optimizer="adamw",
        max_seq_length=12,
        doc_stride=2,
        max_query_length=4,
        albert_dropout_prob=0.25,
    )


@pytest.mark.nightly
def test_a_table_of_all_starts(options, tmp_path, monkeypatch, capsys):
    commands = []

    def in_this_process(name, flags):
        commands.append([name, *(f"--{k}={v}" for k, v in flags.items())])
        run_repeatedly(command_line.parse(SquadOptions, commands[-1]))

    monkeypatch.setattr(pretraining_gain, "run_module", in_this_process)
    results.run(options)
    assert [c for c in commands if "--albert_dropout_prob=0.25" in c] == commands != []
    folder = tmp_path / "results"
    table = (folder / "results.md").read_text()
    assert capsys.readouterr().out == table
    assert "| SQuAD, exact_match | none | always 'b' | 100.00 |  |  |" in table
    for start in ("pretrained", "from scratch"):
        run = folder / f"squad_mine_{start.replace(' ', '_')}"
        f1 = float(read_eval_results(str(run / "eval_results.txt"))["f1"])
        row = f"| SQuAD, f1 | mine | {start} | {f1:.2f} | {f1:.2f}–{f1:.2f} |"
        assert row in table
    found = [list(read_paragraphs(folder / f"{n}.json")) for n in ("learned", "scored")]
    assert [[p.context[0] for p in paragraphs] for paragraphs in found] == [
        ["b", "d"],
        ["a", "c"],
    ]
    assert len(commands) == 2
    results.run(options)  # nothing is repeated
    assert len(commands) == 2
    with pytest.raises(UserError, match="doc_stride=2, which is 3 now"):
        results.run(dataclasses.replace(options, doc_stride=3))
