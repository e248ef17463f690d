"""The table of released models."""

import re

from albert_tf.config import RELEASED_SIZES
from albert_tf.config import AlbertConfig
from albert_tf.costs.albert import encoder_parameters
from albert_tf.costs.albert import pretraining_parameters
from albert_tf.hub.repositories import names_of_release


def rows():
    for size in RELEASED_SIZES:
        config = AlbertConfig.released(size)
        encoder = sum(encoder_parameters(config).values())
        both_heads = sum(pretraining_parameters(config).values())
        *repository, _ = names_of_release(size)
        handle = f"`{repository[0]}`" if repository else "none"
        yield f"| {size} | {encoder:,} | {both_heads:,} | {handle} |"


def test_the_page_has_the_table(project):
    page = (project / "docs" / "checkpoints.md").read_text()
    assert "\n".join(rows()) in page


def test_names():
    for name in ("albert/albert-base-v2", "ALBERT_base_v2.tar.gz", "base_v2"):
        repository, archive = names_of_release(name)
        assert repository == "hf://albert/albert-base-v2"
        assert re.fullmatch(r"https://storage\S+/albert_base_v2\.tar\.gz", archive)
    assert names_of_release("albert-base-v3") == []
    assert names_of_release("models/albert-base-v2") == []
