"""The Beam pipeline writes the same bytes as the processes of one machine."""

import dataclasses

import pytest

from albert_tf.errors import UserError
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
