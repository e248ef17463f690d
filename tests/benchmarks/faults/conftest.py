"""Material of the attacks: data made without faults."""

import shutil

import pytest

from benchmarks.faults import programs
from benchmarks.faults.bench import Bench


@pytest.fixture(scope="package")
def references(tmp_path_factory):
    """The folder in which data was made without faults, in one process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(programs.DATA.flags, "workers", 1)
        bench = Bench(tmp_path_factory.mktemp("bench"), 0)
        bench.reference(programs.DATA)
        yield bench.reference_folder


@pytest.fixture
def directory(references, tmp_path):
    """A folder for attacks, where these references are."""
    shutil.copytree(references, tmp_path / "reference")
    return tmp_path
