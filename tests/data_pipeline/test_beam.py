"""The Beam pipeline writes the same bytes as the processes of one machine."""

import dataclasses
import os
import re
import shlex

import pytest

from albert_tf.errors import UserError
from data_pipeline import beam
from data_pipeline.create_pretraining_data import create_pretraining_data

_SHARDS = {"num_shards": 3, "held_out_fraction": 0.2}


@pytest.fixture
def options(make_options):
    return dataclasses.asdict(make_options(**_SHARDS))


@pytest.mark.slow
def test_same_files_as_without_beam(options, made, out, digests):
    beam.create(beam.BeamOptions(**options, beam_options="--runner=DirectRunner"))
    found = digests(out)
    assert found == digests(made(**_SHARDS))
    assert len(found) == 10


@pytest.mark.nightly
def test_two_processes_of_dask_write_the_same_files(
    make_options, made, out, digests, tmp_path
):
    distributed = pytest.importorskip("distributed")
    pids = tmp_path / "pids"
    pids.mkdir()

    def write(records, files, paths, shards, finished):
        def finished_here(shard, written):
            (pids / str(shard)).write_text(str(os.getpid()))
            finished(shard, written)

        beam.write_shards(beam_options, records, files, paths, shards, finished_here)

    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None
    ) as cluster:
        runner = "apache_beam.runners.dask.dask_runner.DaskRunner"
        address = cluster.scheduler_address
        beam_options = (
            f"--runner={runner} --dask_client_address={address} --dask_partition_size=1"
        )
        create_pretraining_data(make_options(num_shards=8), write)
    assert digests(out) == digests(made(num_shards=8))
    writers = {path.read_text() for path in pids.iterdir()}
    assert len(writers) == 2 and str(os.getpid()) not in writers


@pytest.mark.slow
def test_workers_of_dataflow_install_what_users_have(project, tmp_path):
    """The page's sample stages a wheel, and nothing of a checkout."""
    stager = pytest.importorskip("apache_beam.runners.portability.stager").Stager
    from apache_beam.options.pipeline_options import PipelineOptions

    page = (project / "docs" / "data.md").read_text(encoding="utf-8")
    sample = re.search(r"--beam_options='(--runner=DataflowRunner.*?)'", page, re.S)[1]
    wheel = tmp_path / "albert_tf-1.0-py3-none-any.whl"
    wheel.write_bytes(b"")
    sample = sample.replace("albert_tf-VERSION-py3-none-any.whl", str(wheel))
    options = PipelineOptions(shlex.split(sample))
    (tmp_path / "temporary").mkdir()
    staged = stager.create_job_resources(options, str(tmp_path / "temporary"))
    names = {name for _, name, _ in stager.extract_staging_tuple_iter(staged)}
    assert {wheel.name, "extra_packages.txt"} <= names
    assert not any("workflow" in name for name in names)  # of --setup_file


@pytest.mark.slow
def test_an_unknown_runner_is_one_sentence(options):
    with pytest.raises(UserError, match="--beam_options=--runner=no.such.Runner: "):
        beam.create(beam.BeamOptions(**options, beam_options="--runner=no.such.Runner"))
