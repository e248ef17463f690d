"""Each flag's default, and the least and the greatest number that it takes."""

import dataclasses
import json

import pytest

from albert_tf.engine.flags import ExecutionFlags
from albert_tf.engine.flags import ReportFlags
from albert_tf.engine.flags import TrainerFlags
from albert_tf.objectives.flags import GeneratorFlags
from albert_tf.objectives.flags import LayersFlags
from albert_tf.optimizers.flags import OptimizerFlags
from albert_tf.pretraining.flags import PretrainingOptions

_GROUPS = (
    ExecutionFlags,
    GeneratorFlags,
    LayersFlags,
    OptimizerFlags,
    PretrainingOptions,
    ReportFlags,
    TrainerFlags,
)


@pytest.mark.parametrize("group", _GROUPS)
def test_numbers_of_the_flags(group, project):
    golden = json.loads((project / "tests/golden/pretraining_flags.json").read_text())
    found = {}
    for field in dataclasses.fields(group):
        default = None if field.default is dataclasses.MISSING else field.default
        bounds = field.metadata["minimum"], field.metadata["maximum"]
        found[field.name] = [default, *bounds]
    assert found == {name: golden[name] for name in found}
    assert group is not PretrainingOptions or found.keys() == golden.keys()
