"""A run has the lengths of its data, unless flags say otherwise."""

import json
import shutil

import pytest

from albert_tf.cli.command_line import parse
from albert_tf.errors import UserError
from albert_tf.pretraining.data import PretrainingData
from albert_tf.pretraining.flags import PretrainingOptions
from albert_tf.pretraining.run import pretrain
from albert_tf.pretraining.settings import resolve
from albert_tf.pretraining.settings import with_lengths
from albert_tf.tokenization import load_tokenizer

NOT_GIVEN = {"max_seq_length": None, "max_predictions_per_seq": None}


@pytest.fixture
def options(flags):
    """Makes the options of a run that is not told the lengths."""

    def make(**changes):
        changes = {**NOT_GIVEN, **changes}
        return parse(PretrainingOptions, ["run_pretraining.py", *flags(**changes)])

    return make


def lengths(options, prefix=""):
    resolved = with_lengths(options)
    names = ("max_seq_length", "max_predictions_per_seq")
    return tuple(getattr(resolved, f"{prefix}{name}") for name in names)


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


def test_what_the_data_was_made_with(options, dynamic):
    assert lengths(options()) == (16, 3)
    assert lengths(options(input_file=dynamic / "train.tfrecord")) == (16, 3)


def test_the_official_defaults_for_data_that_nobody_described(options, tmp_path):
    (tmp_path / "official.tfrecord").write_bytes(b"")
    assert lengths(options(input_file=tmp_path / "official.tfrecord")) == (512, 20)


def test_dynamic_data_is_predicted_at_its_rate(options, long, material):
    """512 tokens at 15% are 77 predictions, not the 20 of the official default."""
    assert lengths(options(input_file=long)) == (512, 77)
    assert lengths(options(input_file=long, masked_lm_prob=0.2)) == (512, 102)
    tokenizer = load_tokenizer(material / "vocab.model")
    data = PretrainingData(resolve(options(input_file=long)), tokenizer)
    (stage,) = data.stages()
    weights = next(iter(stage.dataset))["masked_lm_weights"]
    assert weights.shape == (16, 77)


def test_too_few_predictions_are_refused(options, long, material):
    chosen = options(input_file=long, max_predictions_per_seq=20)
    tokenizer = load_tokenizer(material / "vocab.model")
    with pytest.raises(
        UserError, match="with max_predictions_per_seq=77, but training a"
    ):
        PretrainingData(resolve(chosen), tokenizer).stages()


def test_given_lengths_count_and_must_fit(options):
    assert lengths(options(max_seq_length=8)) == (8, 3)
    with pytest.raises(
        UserError, match="with max_seq_length=16, but training asks for 8"
    ):
        pretrain(resolve(options(max_seq_length=8)))


def test_each_phase_has_the_lengths_of_its_data(options, short, material):
    two = {
        "input_file": short / "train.tfrecord",
        "second_phase_input_file": material / "data" / "train.tfrecord",
        "first_phase_steps": 1,
        "num_train_steps": 2,
    }
    assert lengths(options(**two)) == (8, 2)
    assert lengths(options(**two), "second_phase_") == (16, 3)
    given = options(**two, second_phase_max_predictions_per_seq=4)
    assert lengths(given, "second_phase_") == (16, 4)
    phases = resolve(options(**two)).phases()
    assert [phase.lengths for phase in phases] == [(8, 2), (16, 3)]


def test_a_second_phase_on_the_same_data_has_the_lengths_of_the_first(options):
    same = options(first_phase_steps=1, second_phase_train_batch_size=8)
    assert lengths(same, "second_phase_") == (None, None)
    phases = resolve(same).phases()
    assert [phase.max_seq_length for phase in phases] == [16, 16]
