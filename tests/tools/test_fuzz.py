"""The tool that gives properties far more inputs than the suite does."""

import hypothesis

from tools.fuzz.__main__ import FuzzOptions
from tools.fuzz.__main__ import _Profile
from tools.fuzz.__main__ import arguments


def test_as_many_inputs_as_asked_for_and_others_with_another_seed():
    try:
        _Profile(300).pytest_sessionstart()
        found = hypothesis.settings()
    finally:
        hypothesis.settings.load_profile("suite")
    assert (found.max_examples, found.derandomize) == (300, False)
    assert "--hypothesis-seed=7" in arguments(FuzzOptions(seed=7))


def test_properties_are_chosen_by_name():
    assert "-k=tables" in arguments(FuzzOptions(only="tables"))
    assert not any(a.startswith("-k") for a in arguments(FuzzOptions()))
