"""The Beam pipeline writes the same bytes as the processes of one machine."""

import dataclasses
import sys

import pytest

from albert_tf.errors import UserError
from data_pipeline import beam
from data_pipeline.create_pretraining_data import create_pretraining_data


def test_without_beam_one_sentence_names_the_extra(make_options, monkeypatch):
    monkeypatch.setitem(sys.modules, "apache_beam", None)
    options = beam.BeamOptions(**dataclasses.asdict(make_options()))
    with pytest.raises(UserError, match=r"pip install 'albert-tf\[beam\]'"):
        create_pretraining_data(options, beam.write_shards)


def test_same_files_as_without_beam(make_options, tmp_path):
    pytest.importorskip("apache_beam")
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
