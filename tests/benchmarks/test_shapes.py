"""The products that benchmarks time alone are those that the costs count."""

import sys
from unittest import mock

import pytest
import tensorflow as tf

from albert_tf.costs.albert import forward_flops
from benchmarks.measuring import turns
from benchmarks.measuring.shapes import training_products
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
    shape = {"batch_size": 3, "tokens": 16, "predictions": 4}
    config = tiny_config()
    setting = {"config": config.to_dict(), "batch": shape, "threads": 1, "steps": 1}
    command = turns.command_of(
        sys.executable, "training_products", {**setting, "bfloat16": True}
    )
    player = PlayerHere(command)
    multiply = mock.Mock(wraps=tf.matmul)
    monkeypatch.setattr(tf, "matmul", multiply)
    assert player.turn() > 0
    products = training_products(config, 3, 16, 5, 4)
    assert multiply.call_count == 3 * products.total()
    assert {call.args[0].dtype for call in multiply.mock_calls} == {tf.bfloat16}
