"""Recipes side by side, what judges them, and the block of other tables."""

import dataclasses
import gzip
import math

import pytest

from albert_tf.config import AlbertConfig
from benchmarks.paper import frequencies
from benchmarks.paper import report
from benchmarks.paper import tasks
from benchmarks.paper import tiny
from benchmarks.paper.rows import RunFlags
from benchmarks.paper.tables import TABLES

_FLAGS = RunFlags(num_runs=1, workers=1)


class _Pieces:
    vocab_size = 4000


@pytest.fixture
def corpus(monkeypatch, tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    monkeypatch.setattr(tiny.Corpus, "data", lambda corpus, flags: data)
    monkeypatch.setattr(tiny, "load_tokenizer", lambda path: _Pieces)
    (tmp_path / "vocab_4000.model").touch()
    return tiny.Corpus("", 4000, tmp_path)


def test_recipes_have_their_blocks_and_flags_and_are_judged(
    corpus, monkeypatch, tmp_path
):
    ran = []

    def run(name, flags, label=""):
        ran.append((name, flags))
        if "output_file" in flags:
            flags["output_file"].parent.mkdir(exist_ok=True, parents=True)
            flags["output_file"].write_text('{"overall": 0.5}')

    def results(folder):
        if folder.name in ("sst-2", "cola"):
            return {"eval_accuracy": 0.75, "matthew_corr": 0.25}
        return {"masked_lm_loss": 3.0, "masked_lm_accuracy": 0.5}

    for module in (tiny, tasks):
        monkeypatch.setattr(module, "run_module", run)
        monkeypatch.setattr(module, "read_results", results)
    table = TABLES["recipes"]
    flags = dataclasses.replace(_FLAGS, train_minutes=5.0, blimp_dir="blimp")
    tiny.run(table, corpus, tmp_path, flags)
    # Kept runs get the scores that they lack.
    flags = dataclasses.replace(flags, glue_dir="glue")
    found = tiny.run(table, corpus, tmp_path, flags)
    pairs = [name for name, _ in ran if name == "albert_tf minimal-pairs"]
    assert len(pairs) == len(table.rows)
    scores = {"minimal pairs": 0.5, "sst-2": 0.75, "cola": 0.25}
    losses = {"masked_lm_loss": 3.0, "masked_lm_accuracy": 0.5}
    assert found["+ 30% masked"] == [{"": {**losses, **scores}}]
    assert found["replaced tokens instead"] == [{"": scores}]
    runs = [
        flags
        for name, flags in ran
        if name == "run_pretraining" and flags.get("do_train", True)
    ]
    assert len(runs) == len(table.rows)
    trained = {flags["output_dir"].parent.name: flags for flags in runs}
    falling = trained["_from_30_to_15_masked"]
    assert falling["final_masked_lm_prob"] == 0.15
    assert falling["optimizer"] == "muon"
    assert falling["train_minutes"] == 5
    assert "num_train_steps" not in falling
    assert trained["block_of_today"]["optimizer"] == "lamb"
    config = AlbertConfig.from_json_file(falling["albert_config_file"])
    assert (config.norm, config.hidden_act) == ("pre", "geglu")
    assert config.intermediate_size == 512  # two thirds
    text = report.write(table, found, 6.0, 0.35, tmp_path, "")
    lines = {line.split(" | ")[0]: line for line in text.splitlines()}
    assert lines["| replaced tokens instead"].split(" | ")[1:] == [
        "—",
        "—",
        "0.5000",
        "0.7500",
        "0.2500 |",
    ]
    assert "1 nat a token is 0.3500 bits a byte" in text


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
