"""Devices that flags ask for, and ranges of steps."""

import dataclasses

import pytest

from albert_tf.engine.flags import DeviceFlags
from albert_tf.engine.flags import ReportFlags
from albert_tf.errors import UserError


@pytest.mark.parametrize(
    ("devices", "asks"),
    [
        ({}, False),
        ({"use_tpu": True}, True),
        ({"distribution_strategy": "tpu"}, True),
        ({"tpu_name": "mine"}, True),
        ({"use_tpu": False, "tpu_name": "mine"}, False),
    ],
)
def test_which_flags_ask_for_a_tpu(devices, asks):
    assert dataclasses.replace(DeviceFlags(), **devices).asks_tpu is asks


def test_a_range_of_steps():
    assert ReportFlags().profile_range() is None
    assert ReportFlags(profile_steps="6:17").profile_range() == (6, 17)
    for value in ("5", "5:5", "a:b", "-1:5"):
        with pytest.raises(UserError, match=f"--profile_steps={value} is not a range"):
            ReportFlags(profile_steps=value).profile_range()
