"""A run has the lengths of its data, unless flags say otherwise."""

import json
import shutil

import pytest

from albert_tf.pretraining.data import PretrainingData


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
