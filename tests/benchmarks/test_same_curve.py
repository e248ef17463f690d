"""Losses here and in PyTorch, from one start on the same batches."""

import json

import pytest

from benchmarks.same_curve import __main__ as same_curve


@pytest.mark.nightly
def test_five_steps_equal_those_of_pytorch(material, tmp_path):
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    options = same_curve.Options(
        input_file=str(material / "data" / "train*.tfrecord"),
        spm_model_file=str(material / "vocab.model"),
        output_dir=str(tmp_path / "curves"),
        hidden_size=64,
        num_hidden_layers=2,
        num_train_steps=5,
        train_batch_size=4,
    )
    found = same_curve.benchmark(options)
    pairs = [
        (model, rule) for model in ("albert", "bert") for rule in ("adamw", "lamb")
    ]
    assert list(found) == pairs
    starts = [sides["albert-tf"]["masked_lm_loss"][0] for sides in found.values()]
    assert starts[0] == starts[1] != starts[2] == starts[3]
    assert json.loads((tmp_path / "curves" / "losses.json").read_text())
