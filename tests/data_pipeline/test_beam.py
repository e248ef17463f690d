"""The Beam pipeline writes the same bytes as the processes of one machine."""

import dataclasses

import pytest

pytest.importorskip("apache_beam")

from data_pipeline import beam
from data_pipeline.create_pretraining_data import create_pretraining_data


def test_same_files_as_without_beam(make_options, tmp_path):
    values = dataclasses.asdict(make_options(num_shards=3, held_out_fraction=0.2))
    options = beam.BeamOptions(**values)
    folders = [tmp_path / "plain", tmp_path / "beam"]
    for folder, writing in zip(
        folders, [{}, {"write_shards": beam.write_shards}], strict=True
    ):
        output_file = str(folder / "x.tfrecord")
        create_pretraining_data(
            dataclasses.replace(options, output_file=output_file), **writing
        )
    plain, other = (
        {p.relative_to(f): p.read_bytes() for p in f.rglob("*") if p.is_file()}
        for f in folders
    )
    assert plain == other
    assert len(plain) == 8
