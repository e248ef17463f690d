"""A comparison on a corpus, from text to table, is made once."""

import dataclasses
import math

import pytest

from albert_tf.cli.command_line import parse
from albert_tf.errors import UserError
from albert_tf.pretraining.flags import PretrainingOptions
from albert_tf.pretraining.run import pretrain
from albert_tf.pretraining.settings import resolve
from benchmarks.paper import __main__ as paper
from benchmarks.paper import tiny
from benchmarks.paper.tables import TABLES
from data_pipeline.create_pretraining_data import create_pretraining_data
from data_pipeline.options import DataOptions
from data_pipeline.train_tokenizer import TokenizerOptions
from data_pipeline.train_tokenizer import train_tokenizer

_COMMANDS = {
    "data_pipeline.train_tokenizer": (TokenizerOptions, train_tokenizer),
    "data_pipeline.create_pretraining_data": (DataOptions, create_pretraining_data),
    "run_pretraining": (PretrainingOptions, lambda options: pretrain(resolve(options))),
}


@pytest.fixture
def commands(monkeypatch):
    """The commands that were run, in this process."""
    called = []

    def run(name, flags, label=""):
        called.append((name, flags))
        options, function = _COMMANDS[name]
        if options is DataOptions:
            flags = {**flags, "workers": 1}
        if options is PretrainingOptions:
            flags = {**flags, "use_xla": False, "max_eval_steps": 1}
        function(parse(options, ["", *(f"--{k}={v}" for k, v in flags.items())]))

    monkeypatch.setattr(tiny, "run_module", run)
    return called


@pytest.fixture
def corpus_file(tmp_path):
    """Documents of a paragraph each."""
    words = ["ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen"]

    def sentence(number):
        return " ".join(words[(number * place) % 7] for place in range(1, 12)) + "."

    paragraphs = (
        " ".join(sentence(document + line) for line in range(12))
        for document in range(200)
    )
    path = tmp_path / "corpus.txt"
    path.write_text("\n\n".join(paragraphs))
    return path


@pytest.mark.nightly
def test_each_model_is_evaluated_on_the_data_of_each(
    corpus_file, tmp_path, commands, monkeypatch, capsys
):
    table = TABLES["5"]
    rows = tuple(row for row in table.rows if not row.name.endswith("nsp"))
    monkeypatch.setitem(TABLES, "5", dataclasses.replace(table, rows=rows))
    options = paper.Options(
        table="5",
        input_file=str(corpus_file),
        output_dir=str(tmp_path),
        vocab_size=28,
        num_train_steps=2,
        num_runs=1,
        workers=1,
    )
    text = paper.compare(options)
    assert capsys.readouterr().out.endswith(text)
    lines = {line.split(" | ")[0]: line for line in text.splitlines()}
    assert "sentence_order_accuracy (sentence_objective=sop)" in text
    # It has no pairs, whose order a model could tell.
    assert "sentence_order_accuracy (sentence_objective=none)" not in text
    for name, reported in (("none", "79.0 |"), ("sop", "80.1 |")):
        *cells, accuracy, figure = lines[f"| sentence_objective={name}"].split(" | ")[
            1:
        ]
        assert len(cells) == 4
        assert all(math.isfinite(float(cell)) for cell in cells)
        assert (accuracy == "—") == (name == "none")
        assert figure == reported
    trained = [flags for name, flags in commands if name == "run_pretraining"]
    assert len(trained) == 6
    count = len(commands)
    assert paper.compare(options) == text
    assert len(commands) == count
    with pytest.raises(UserError, match="num_train_steps=2, which is 3 now"):
        paper.compare(dataclasses.replace(options, num_train_steps=3))
