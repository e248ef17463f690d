"""Fixtures of ranking."""

import json
import tarfile

import pytest


@pytest.fixture(scope="session")
def cross_encoder(project, tmp_path_factory):
    """Unpacks a CrossEncoder's directory and what sentence-transformers computes.

    `tools/cross_encoder.py` records it.
    """
    folder = tmp_path_factory.mktemp("cross_encoder")
    with tarfile.open(project / "tests/golden/cross_encoder.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    expected = json.loads((folder / "expected.json").read_text())
    (folder / "expected.json").unlink()
    return folder, expected
