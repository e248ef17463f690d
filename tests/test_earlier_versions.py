"""Runs that version 0.1.0 began go on, to where it would have brought them.

`golden/version_0_1.tar.gz` holds what version 0.1.0 wrote: data, a pretraining run
after two steps, a fine-tuning run that was stopped after two of its four steps, and in
`expected.npz` the weights and moments that it reached after four steps of each.
"""

import tarfile

import numpy as np
import pytest
import tensorflow as tf

import albert_tf
from albert_tf.commands import main
from albert_tf.serving.building import build_module
from albert_tf.serving.predictor import Predictor

_PRETRAINING = (
    "--input_file=data/train.tfrecord --vocab_file=vocab.txt "
    "--albert_config_file=config.json --max_seq_length=24 --max_predictions_per_seq=4 "
    "--train_batch_size=4 --learning_rate=0.01 --lr_schedule=constant "
    "--num_warmup_steps=0 --save_checkpoints_steps=2 --iterations_per_loop=1 "
    "--use_xla=false --output_dir=pretrained --num_train_steps=4"
)
_FINE_TUNING = (
    "--task_name=custom --data_dir=tables --init_checkpoint=pretrained "
    "--output_dir=tuned --max_seq_length=16 --train_batch_size=8 --learning_rate=0.01 "
    "--train_step=4 --save_checkpoints_steps=2 --iterations_per_loop=1 --do_train"
)


@pytest.fixture
def expected(project, tmp_path, monkeypatch):
    """The variables of a run's last checkpoint; in a folder with all of the above."""
    with tarfile.open(project / "tests" / "golden" / "version_0_1.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    monkeypatch.chdir(tmp_path / "version_0_1")

    def of(name):
        with np.load("expected.npz") as arrays:
            prefix = f"{name}:"
            return {
                key.removeprefix(prefix): arrays[key]
                for key in arrays
                if key.startswith(prefix)
            }

    return of


def _assert_reached(checkpoint, expected):
    reader = tf.train.load_checkpoint(checkpoint)
    assert len(expected) > 50
    for name, array in expected.items():
        found = reader.get_tensor(name)
        np.testing.assert_allclose(found, array, atol=2e-5, err_msg=name)


def test_pretraining_goes_on(expected, lines):
    main(["albert-tf", "pretrain", *_PRETRAINING.split()])
    assert any(line.startswith("Continuing at step 2 from ") for line in lines)
    _assert_reached("pretrained/checkpoints/training-4", expected("pretrained"))


def test_fine_tuning_goes_on(expected, lines):
    main(["albert-tf", "classify", *_FINE_TUNING.split()])
    assert any(line.startswith("Continuing at step 2 from ") for line in lines)
    _assert_reached("tuned/checkpoints/training-4", expected("tuned"))


def test_its_models_load_and_answer(expected):
    assert albert_tf.load_tokenizer("pretrained").vocab_size == 23
    albert_tf.AlbertForPreTraining.from_pretrained("pretrained")
    answers = Predictor.from_module(build_module("tuned/model")[0])(["the good film"])
    assert answers["label"][0] in (b"good", b"bad")
