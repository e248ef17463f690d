"""The Beam pipeline writes the same bytes as the processes of one machine."""

import dataclasses
import os

import pytest

from albert_tf.errors import UserError
from data_pipeline import beam
from data_pipeline.create_pretraining_data import create_pretraining_data


@pytest.fixture
def both(make_options, tmp_path):
    """Makes the files without Beam and with it: two dicts of bytes by name."""

    def make(num_shards, beam_options, create=beam.create):
        values = dataclasses.asdict(
            make_options(num_shards=num_shards, held_out_fraction=0.2)
        )
        options = beam.BeamOptions(**values, beam_options=beam_options)
        found = []
        for name, make in (("plain", create_pretraining_data), ("beam", create)):
            folder = tmp_path / name
            output_file = str(folder / "x.tfrecord")
            make(dataclasses.replace(options, output_file=output_file))
            files = [path for path in folder.rglob("*") if path.is_file()]
            found.append({p.relative_to(folder): p.read_bytes() for p in files})
        return found

    return make


def test_same_files_as_without_beam(both):
    plain, other = both(3, "--runner=DirectRunner")
    assert plain == other
    assert len(plain) == 10


@pytest.mark.nightly
def test_two_processes_of_dask_write_the_same_files(both, tmp_path):
    distributed = pytest.importorskip("distributed")
    pids = tmp_path / "pids"
    pids.mkdir()

    def write(records, files, paths, shards, finished):
        def finished_here(shard, written):
            (pids / str(shard)).write_text(str(os.getpid()))
            finished(shard, written)

        beam.write_shards(beam_options, records, files, paths, shards, finished_here)

    def create(options):
        create_pretraining_data(options, write)

    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None
    ) as cluster:
        runner = "apache_beam.runners.dask.dask_runner.DaskRunner"
        address = cluster.scheduler_address
        beam_options = (
            f"--runner={runner} --dask_client_address={address} --dask_partition_size=1"
        )
        plain, other = both(8, beam_options, create)
    assert plain == other
    writers = {path.read_text() for path in pids.iterdir()}
    assert len(writers) == 2 and str(os.getpid()) not in writers


@pytest.mark.parametrize("runner", ["No", "no.such.Runner"])
def test_an_unknown_runner_is_one_sentence(both, runner):
    with pytest.raises(UserError, match=f"--beam_options=--runner={runner}: "):
        both(3, f"--runner={runner}")
