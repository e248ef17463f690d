"""A Hugging Face directory, and another content of its config.json."""

import json

import pytest
import tensorflow as tf

from albert_tf.checkpoints.huggingface import save_huggingface
from albert_tf.models.pretraining import AlbertForPreTraining


@pytest.fixture
def saved(tiny_config, tmp_path):
    """A model, which is also in `tmp_path`."""
    model = AlbertForPreTraining(tiny_config(num_hidden_groups=2, inner_group_num=2))
    save_huggingface(model, tmp_path)
    return model


@pytest.fixture
def reconfigure(tmp_path):
    """Changes entries of the config.json in `tmp_path`."""

    def change(**entries):
        path = tmp_path / "config.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **entries}))
        (tmp_path / "SHA256SUMS").unlink(missing_ok=True)

    return change


def write_tf1(prefix, tensors):
    prefix.parent.mkdir(parents=True, exist_ok=True)
    slices = [""] * len(tensors)
    tf.raw_ops.SaveV2(
        prefix=str(prefix),
        tensor_names=list(tensors),
        shape_and_slices=slices,
        tensors=list(tensors.values()),
    )
