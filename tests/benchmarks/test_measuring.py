"""What benchmarks compute themselves: by hand, or on a file of a few words."""

import math
import sys
from unittest import mock

import pytest
import tensorflow as tf

from albert_tf.cli import command_line
from albert_tf.costs.albert import forward_flops
from albert_tf.errors import UserError
from albert_tf.io import checksums
from albert_tf.serving import writing
from benchmarks import export_memory
from benchmarks import retrieval
from benchmarks.measuring import kept_runs
from benchmarks.measuring import turns
from benchmarks.measuring.shapes import training_products
from benchmarks.ngram_pairs import KneserNey
from benchmarks.squad import survival
from tests.players import PlayerHere


@pytest.mark.parametrize("changes", [{}, {"hidden_act": "geglu"}])
def test_products_of_a_step_are_those_of_its_costs(tiny_config, changes):
    config = tiny_config(**changes)
    rows, tokens, predictions = 3, 16, 4
    products = training_products(config, rows, tokens, 1 + predictions, predictions)
    counted = sum(2 * b * m * k * n * times for (b, m, k, n), times in products.items())
    costs = forward_flops(config, tokens, predictions)
    del costs["pooler"]
    assert counted == pytest.approx(rows * tokens * sum(costs.values()))


def test_each_product_is_timed_with_those_of_its_gradients(tiny_config, monkeypatch):
    config, batch = tiny_config(), {"batch_size": 3, "tokens": 16, "predictions": 4}
    setting = {
        "config": config.to_dict(),
        "batch": batch,
        "threads": 1,
        "steps": 1,
        "bfloat16": True,
    }
    player = PlayerHere(turns.command_of(sys.executable, "training_products", setting))
    multiply = mock.Mock(wraps=tf.matmul)
    monkeypatch.setattr(tf, "matmul", multiply)
    assert player.turn() > 0
    assert multiply.call_count == 3 * training_products(config, 3, 16, 5, 4).total()
    assert {call.args[0].dtype for call in multiply.mock_calls} == {tf.bfloat16}


@pytest.mark.parametrize("changed", ["deeper/x-1.tfrecord", "dataset_info.json"])
def test_runs_are_kept_for_the_same_settings_and_contents(changed, tmp_path):
    runs, data = tmp_path / "runs", tmp_path / "data"
    (data / "deeper").mkdir(parents=True)
    (data / "deeper" / "x-1.tfrecord").write_text("as it was")
    info = data / "dataset_info.json"
    info.write_text("{}")
    (data / checksums.NAME).write_text(f"{checksums.of_file(info)}  {info.name}\n")
    kept_runs.check(runs, data=data, steps=2)
    data = data.rename(tmp_path / "moved")
    (data / "log").touch()
    kept_runs.check(runs, steps=2, data=data)
    with pytest.raises(UserError, match="runs holds .* steps=2, which is 3 now; name"):
        kept_runs.check(runs, data=data, steps=3)
    (data / changed).write_text("as it is")
    with pytest.raises(UserError, match="made with other contents of --data; name"):
        kept_runs.check(runs, data=data, steps=2)


def test_a_bigram_by_hand():
    model = KneserNey([["a", "b"], ["a", "b"], ["a", "a"]], 2)
    # Bigrams: begin a 3, a b 2, b end 2, a a 1, a end 1; one discount: 2 / (2 + 2 * 2).
    discount = 2 / 6
    # By the words before them: a 2, b 1, end 2; discount 1 / (1 + 2 * 2).
    of_one = 1 / 5
    b = (1 - of_one + of_one * 3 / 4) / 5
    after_a = (2 - discount + discount * 3 * b) / 4
    begin_a = (3 - discount + discount * ((2 - of_one + of_one * 3 / 4) / 5)) / 3
    end = (2 - discount + discount * ((2 - of_one + of_one * 3 / 4) / 5)) / 2
    expected = math.log(begin_a * after_a * end)
    assert model.score(["a", "b"]) == pytest.approx(expected)


def test_scores_of_ranks():
    assert retrieval._scores([1, 2, None, 4]).split() == ["0.250", "0.750", "0.438"]


def test_answers_come_back_from_their_tokens(tmp_path, vocabulary, squad, capsys):
    vocab_file = tmp_path / "vocab.txt"
    vocab_file.write_text(vocabulary([*"abcxyz", "##s"]))
    path = squad(("a B cs xyz", [("1", "x", [("a", 0), ("c", 4), ("xy", 7)])]))
    flags = [f"--predict_file={path}", f"--vocab_file={vocab_file}"]
    command_line.run(survival.Options, survival.report, argv=["survival", *flags])
    assert capsys.readouterr().out.splitlines() == [
        "2 of 3 answers come back from their tokens (66.667%)",
        "1: 'xy' becomes 'xyz', since it ends inside a token",
    ]


def test_stages_of_an_export_are_functions_that_it_calls():
    for name in export_memory._STAGES:
        assert callable(getattr(writing, name))
