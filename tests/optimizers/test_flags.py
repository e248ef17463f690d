"""The flags of the optimizer, which reach optimizer and schedule."""

import pytest

from albert_tf.errors import UserError
from albert_tf.optimizers.flags import OptimizerFlags


def test_each_flag_reaches_its_class():
    changes = {"optimizer": "muon", "weight_decay": 0.1, "lr_schedule": "wsd"}
    arguments = "momentum=0.9, cooldown=0.5,nesterov=false"
    flags = OptimizerFlags(learning_rate=0.02, optimizer_args=arguments, **changes)
    optimizer = flags.create(100, 10, start_warmup_step=5)
    found = optimizer.get_config()
    assert (found["momentum"], found["nesterov"]) == (0.9, False)
    assert found["weight_decay_rate"] == 0.1
    schedule = optimizer._learning_rate.get_config()
    assert schedule["cooldown"] == 0.5
    assert (schedule["num_warmup_steps"], schedule["start_warmup_step"]) == (10, 5)
    flags = OptimizerFlags(learning_rate=1.0, poly_power=2.0)
    assert float(flags.create(100, 0)._learning_rate(50)) == 0.25


@pytest.mark.parametrize(
    ("changes", "arguments", "message"),
    [
        ({}, "momentum=0.9", "no hyperparameter of lamb and polynomial"),
        ({}, "beta_2=high", "'beta_2=high' is not name=value"),
        ({}, 'bias_correction="false"', "is not name=value with a number, true or"),
        ({"poly_power": 2.0, "lr_schedule": "cosine"}, "", "'power' is no hyperpar"),
        ({"lr_schedule": "wsd"}, "cooldown=2", "cooldown=2: expected a share"),
    ],
)
def test_hyperparameters_that_do_not_fit(changes, arguments, message):
    with pytest.raises(UserError, match=message):
        OptimizerFlags(**changes, optimizer_args=arguments).create(10, 0)
