"""The tool that gives properties far more inputs than the suite does."""

import hypothesis

from tools.fuzz.__main__ import FuzzOptions
from tools.fuzz.__main__ import _Profile
from tools.fuzz.__main__ import arguments


def test_as_many_inputs_as_asked_for_of_the_properties_and_the_seed_that_are_asked():
    try:
        _Profile(300).pytest_sessionstart()
        found = hypothesis.settings()
    finally:
        hypothesis.settings.load_profile("suite")
    assert (found.max_examples, found.derandomize) == (300, False)
    chosen = arguments(FuzzOptions(seed=7, only="tables"))
    assert {"--hypothesis-seed=7", "-k=tables"} <= {*chosen}
