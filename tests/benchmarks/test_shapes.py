"""The products that benchmarks time alone are those that the costs count."""

import pytest

from albert_tf.costs.albert import forward_flops
from benchmarks.measuring.shapes import training_products


@pytest.mark.parametrize("changes", [{}, {"hidden_act": "geglu"}])
def test_products_of_a_step_are_those_of_its_costs(tiny_config, changes):
    config = tiny_config(**changes)
    rows, tokens, predictions = 3, 16, 4
    products = training_products(config, rows, tokens, 1 + predictions, predictions)
    counted = sum(2 * b * m * k * n * times for (b, m, k, n), times in products.items())
    costs = forward_flops(config, tokens, predictions)
    del costs["pooler"]
    assert counted == pytest.approx(rows * tokens * sum(costs.values()))
