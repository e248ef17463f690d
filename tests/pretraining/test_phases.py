"""From the flags of a run to its phases, and their lengths."""

import json
import shutil

import pytest

from albert_tf.pretraining.data import PretrainingData
from albert_tf.pretraining.flags import DataFlags


def phases(**flags):
    flags = {
        "max_seq_length": 128,
        "train_batch_size": 24,
        "num_train_steps": 100,
        **flags,
    }
    return DataFlags(input_file="data", **flags).phases()


def test_a_run_is_one_phase():
    (phase,) = phases(gradient_accumulation_steps=2)
    assert vars(phase) == {
        "input_file": "data",
        "max_seq_length": 128,
        "max_predictions_per_seq": None,
        "train_batch_size": 24,
        "gradient_accumulation_steps": 2,
        "num_train_steps": 100,
    }


def test_the_second_phase_changes_what_it_says():
    first, second = phases(
        first_phase_steps=90,
        second_phase_input_file="long",
        second_phase_max_seq_length=512,
        second_phase_max_predictions_per_seq=77,
        second_phase_train_batch_size=8,
        second_phase_gradient_accumulation_steps=4,
    )
    assert [*vars(first).values()] == [24, 90, "data", 128, None, 1]
    assert [*vars(second).values()] == [8, 100, "long", 512, 77, 4]
    _, second = phases(first_phase_steps=90, second_phase_max_seq_length=512)
    assert (second.input_file, second.train_batch_size) == ("data", 24)


def test_the_ramp_doubles_the_batch_in_equal_steps_of_the_first_phase():
    ramp = phases(
        gradient_accumulation_steps=6,
        batch_ramp_steps=30,
        first_phase_steps=40,
        second_phase_train_batch_size=12,
    )
    found = [
        (p.train_batch_size, p.gradient_accumulation_steps, p.num_train_steps)
        for p in ramp
    ]
    assert found == [(4, 1, 10), (8, 2, 20), (16, 4, 30), (24, 6, 40), (12, 6, 100)]


@pytest.fixture
def unsaid(settings):
    """Makes the settings of a run that is not told the lengths."""
    names = ("max_seq_length", "max_predictions_per_seq")
    return lambda **changes: settings(**{**dict.fromkeys(names), **changes})


def lengths(settings, prefix=""):
    names = ("max_seq_length", "max_predictions_per_seq")
    return tuple(getattr(settings, f"{prefix}{name}") for name in names)


@pytest.fixture
def long(dynamic, tmp_path):
    """Dynamic data, described as made for 512 tokens."""
    shutil.copytree(dynamic, tmp_path / "long")
    path = tmp_path / "long" / "dataset_info.json"
    info = json.loads(path.read_text())
    info |= {"max_seq_length": 512, "max_predictions_per_seq": 77}
    path.write_text(json.dumps(info))
    (path.parent / "SHA256SUMS").unlink()
    return path.parent / "train.tfrecord"


def test_what_the_data_was_made_with_or_else_the_official_defaults(unsaid, tmp_path):
    assert lengths(unsaid()) == (16, 3)
    assert lengths(unsaid(max_seq_length=8)) == (8, 3)
    (tmp_path / "official.tfrecord").write_bytes(b"")
    assert lengths(unsaid(input_file=tmp_path / "official.tfrecord")) == (512, 20)


def test_dynamic_data_is_predicted_at_its_rate(unsaid, long, tokenizer):
    """512 tokens at 15% are 77 predictions, not the 20 of the official default."""
    assert lengths(unsaid(input_file=long)) == (512, 77)
    assert lengths(unsaid(input_file=long, masked_lm_prob=0.2)) == (512, 102)
    (stage,) = PretrainingData(unsaid(input_file=long), tokenizer).stages()
    assert next(iter(stage.dataset))["masked_lm_weights"].shape == (16, 77)


def test_each_phase_has_the_lengths_of_its_data(unsaid, short, material):
    two = {
        "input_file": short / "train.tfrecord",
        "second_phase_input_file": material / "data" / "train.tfrecord",
        "first_phase_steps": 1,
        "num_train_steps": 2,
    }
    assert [phase.lengths for phase in unsaid(**two).phases()] == [(8, 2), (16, 3)]
    given = unsaid(**two, second_phase_max_predictions_per_seq=4)
    assert lengths(given, "second_phase_") == (16, 4)
    same = unsaid(first_phase_steps=1, second_phase_train_batch_size=8)
    assert lengths(same, "second_phase_") == (None, None)
    assert [phase.max_seq_length for phase in same.phases()] == [16, 16]
