"""A comparison on a corpus, from text to table; the size of a real difference."""

import dataclasses
import gzip
import math

import pytest

from albert_tf.cli.command_line import parse
from albert_tf.errors import UserError
from albert_tf.pretraining.flags import PretrainingOptions
from albert_tf.pretraining.run import pretrain
from albert_tf.pretraining.settings import resolve
from benchmarks.paper import __main__ as paper
from benchmarks.paper import frequencies
from benchmarks.paper import report
from benchmarks.paper import tiny
from benchmarks.paper.rows import RunFlags
from benchmarks.paper.tables import TABLES
from data_pipeline import create_pretraining_data as data
from data_pipeline import train_tokenizer as vocabulary

_COMMANDS = {
    "data_pipeline.train_tokenizer": (
        vocabulary.TokenizerOptions,
        vocabulary.train_tokenizer,
    ),
    "data_pipeline.create_pretraining_data": (
        data.DataOptions,
        data.create_pretraining_data,
    ),
    "run_pretraining": (PretrainingOptions, lambda options: pretrain(resolve(options))),
}


@pytest.fixture
def commands(monkeypatch):
    """The commands that were run, in this process."""
    called = []

    def run(name, flags, label=""):
        called.append((name, flags))
        options, function = _COMMANDS[name]
        if options is data.DataOptions:
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
    for change, message in (
        ({"num_train_steps": 3}, "num_train_steps=2, which is 3 now"),
        ({"vocab_size": 27}, "vocab_size=28, which is 27 now"),
    ):
        with pytest.raises(UserError, match=message):
            paper.compare(dataclasses.replace(options, **change))
    corpus_file.write_text(corpus_file.read_text()[:-1])
    with pytest.raises(UserError, match="other contents of --input_file; name another"):
        paper.compare(options)
    assert len(commands) == count


def test_an_evaluation_sets_what_a_row_changes():
    for name, table in TABLES.items():
        changed = {flag for row in table.rows for flag in row.flags}
        for evaluation in table.evaluations.values():
            shared = set().union(*table.evaluations.values())
            assert changed & shared <= evaluation.keys(), name


def test_a_difference_counts_beyond_twice_its_standard_error():
    found = {
        "a": [{"": {"masked_lm_loss": loss}} for loss in (1.0, 2.0, 3.0)],
        "b": [{"": {"masked_lm_loss": loss}} for loss in (5.0, 5.0, 5.0)],
    }
    # The differences of a seed: 4, 3 and 2, with a variance of 1.
    least = report.least_difference(found, "", "masked_lm_loss")
    assert least == pytest.approx(2 * math.sqrt(1 / 3))
    # What seeds add to both rows is no difference between them: 3, 3 and 3.6.
    found["b"] = [{"": {"masked_lm_loss": loss}} for loss in (4.0, 5.0, 6.6)]
    least = report.least_difference(found, "", "masked_lm_loss")
    assert least == pytest.approx(2 * math.sqrt(0.12 / 3))
    # Of more rows, the mean variance of the differences between two counts.
    found["c"] = [{"": {"masked_lm_loss": loss}} for loss in (0.0, 1.0, 2.3)]
    least = report.least_difference(found, "", "masked_lm_loss")
    assert least == pytest.approx(2 * math.sqrt((0.12 + 0.03 + 0.03) / 3 / 3))
    alone = {"a": found["a"][:1]}
    assert report.least_difference(alone, "", "masked_lm_loss") is None


@pytest.fixture
def corpus(monkeypatch, tmp_path):
    monkeypatch.setattr(tiny.Corpus, "data", lambda corpus, flags: tmp_path)
    monkeypatch.setattr(tiny, "load_tokenizer", lambda path: _Pieces)
    (tmp_path / "vocab_4000.model").touch()
    return tiny.Corpus("", 4000, tmp_path)


class _Pieces:
    vocab_size = 4000


def test_rows_of_equal_compute_have_steps_by_their_flops(monkeypatch, tmp_path, corpus):
    given = {}

    def results(table, flags, sets, judges, seed, source):
        given[flags["output_dir"].name] = flags["num_train_steps"]

    monkeypatch.setattr(tiny, "_results", results)
    flags = RunFlags(num_train_steps=1000, num_runs=1, workers=1)
    tiny.run(TABLES["13"], corpus, tmp_path, flags)
    # Four times the products of a layer, more in the head.
    assert given["nothing_shared_E_H"] == 1000
    assert 250 < given["all_shared_wider"] < 500


def test_a_row_starts_from_the_same_seed_of_another(monkeypatch, tmp_path, corpus):
    starts, evaluated = {}, {}

    def run(name, flags, label=""):
        flags["output_dir"].mkdir(exist_ok=True)
        run = flags["output_dir"].relative_to(tmp_path).as_posix()
        found = starts if flags.get("do_train", True) else evaluated
        found[run] = flags.get("init_checkpoint"), flags.get("init_layers")
        if found is starts and "from_the_mean" in run:
            assert f"nothing_shared_E_H/{flags['output_dir'].name}" in evaluated

    monkeypatch.setattr(tiny, "run_module", run)
    monkeypatch.setattr(tiny, "read_results", lambda folder: {})
    flags = RunFlags(num_train_steps=1000, num_runs=2, workers=2)
    tiny.run(TABLES["start"], corpus, tmp_path, flags)
    source = tmp_path / "nothing_shared_E_H" / "seed_2"
    assert starts["nothing_shared_E_H/seed_2"] == (None, None)
    assert starts["all_shared_from_scratch/seed_2"] == (None, None)
    name = "all_shared_from_the_mean/seed_2"
    assert starts[name] == (source, "mean")
    assert evaluated[name] == (tmp_path / name, "mean")


def test_bits_of_a_byte(tmp_path, monkeypatch):
    path = tmp_path / "text.txt.gz"
    path.write_bytes(gzip.compress("\u00e9 bc\n \nde f\n".encode()))

    class Words:
        tokenize = staticmethod(str.split)

    monkeypatch.setattr(frequencies, "load_tokenizer", lambda path: Words)
    lines = tiny.Corpus(str(path), 4000, tmp_path).lines(9)
    assert lines == ["\u00e9 bc", "de f"]
    found = frequencies.bits_a_byte(lines, "")
    assert found == pytest.approx(4 / 9 / math.log(2))
    found = frequencies.bits_a_byte(lines[:1], "")
    assert found == pytest.approx(2 / 5 / math.log(2))
