"""The table of released models."""

import re

import pytest

from albert_tf.costs.albert import encoder_parameters
from albert_tf.costs.albert import pretraining_parameters
from albert_tf.hub.repositories import RELEASES
from albert_tf.hub.repositories import find_release


def rows():
    """The table of docs/checkpoints.md."""
    for release in RELEASES:
        encoder = sum(encoder_parameters(release.config).values())
        both_heads = sum(pretraining_parameters(release.config).values())
        handle = f"`{release.handle}`" if release.handle else "none"
        yield f"| {release.size} | {encoder:,} | {both_heads:,} | {handle} |"


def test_the_page_has_the_table(project):
    page = (project / "docs" / "checkpoints.md").read_text()
    assert "\n".join(rows()) in page


def test_parameters_are_those_of_the_releases():
    """Of the encoder, by the metadata of keras-hub's presets of the same weights."""
    counts = {
        release.size: sum(encoder_parameters(release.config).values())
        for release in RELEASES
    }
    assert counts["base_v2"] == 11_683_584
    assert counts["large_v2"] == 17_683_968
    assert counts["xlarge_v2"] == 58_724_864
    assert counts["xxlarge_v2"] == 222_595_584


@pytest.mark.parametrize(
    "name",
    ["albert/albert-base-v2", "albert-base-v2", "ALBERT_base_v2.tar.gz", "base_v2"],
)
def test_names(name):
    release = find_release(name)
    assert release.size == "base_v2"
    assert release.handle == "hf://albert/albert-base-v2"
    assert re.fullmatch(r"https://storage\S+/albert_base_v2\.tar\.gz", release.archive)


def test_other_names():
    assert find_release("albert-base-v3") is None
    assert find_release("models/albert-base-v2") is None
