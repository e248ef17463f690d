"""The Beam pipeline writes the bytes that processes do; the benchmark has its rows."""

import dataclasses

import pytest

from albert_tf.errors import UserError
from benchmarks import data_pipeline as benchmark
from data_pipeline import beam

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


@pytest.mark.slow
def test_an_unknown_runner_is_one_sentence(options):
    with pytest.raises(UserError, match="--beam_options=--runner=no.such.Runner: "):
        beam.create(beam.BeamOptions(**options, beam_options="--runner=no.such.Runner"))


@pytest.mark.nightly
def test_the_benchmark_prints_every_figure(corpus_file, model_file, capsys):
    benchmark.benchmark(
        benchmark.Options(
            input_file=str(corpus_file),
            spm_model_file=model_file,
            max_seq_length=32,
            memory_factor=1,
        )
    )
    printed = capsys.readouterr().out
    for figure in (
        "encoder alone, prepared lines",
        "static, one worker",
        "dynamic, one worker",
        "peak memory of a worker",
        "dynamic masking in tf.data",
    ):
        assert figure in printed
