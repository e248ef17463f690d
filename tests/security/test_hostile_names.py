"""Names that files hold: hostile ones are refused, wherever they are acted on."""

import json

import h5py
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import albert_tf
from albert_tf.checkpoints.huggingface import read_huggingface_tensors
from albert_tf.checkpoints.sentence_transformers import read_settings
from albert_tf.checkpoints.tf1 import find_tf1_prefix
from albert_tf.checkpoints.tf1 import save_tf1_checkpoint
from albert_tf.errors import UserError
from albert_tf.families.registry import model_class
from albert_tf.io import storage
from albert_tf.tokenization.loading import read_saved_config
from data_pipeline.records.dataset_info import check_description
from data_pipeline.shards.making import FinishedShards

_LIBRARY = "sentence_transformers.models."
_PARTS = st.sampled_from(["a", ".", "", "..", ".ready", "x y", "é", "*", "~"])
_NAMES = st.one_of(
    st.sampled_from(["..", ".", "", "/", "/etc/passwd", "a\\b", "..\\x", "a\0b", "a/"]),
    st.builds(
        lambda before, after: "/".join([*before, "..", "..", *after, "victim.txt"]),
        st.lists(_PARTS, max_size=1),
        st.lists(st.sampled_from([".", ""]), max_size=2),
    ),
    st.builds(lambda parts: "/" + "/".join(parts), st.lists(_PARTS, max_size=4)),
)
_NO_NAMES = st.one_of(st.none(), st.integers(), st.lists(st.text(), max_size=1))


def _shards_of_weights(folder, name):
    index = {"weight_map": {"a": "model.safetensors", "b": name}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    path = str(folder / "model.safetensors")
    read_huggingface_tensors(path, model_class("AlbertModel").family, [])


def _vocabulary(folder, name):
    (folder / "tokenizer_config.json").write_text(json.dumps({"file": name}))
    read_saved_config(folder)


def _records(folder, name):
    check_description(str(folder / "dataset_info.json"), {"files": [name]})


def _pooling(folder, name):
    kinds = {"Transformer": "", "Pooling": name}
    modules = [{"type": f"{_LIBRARY}{k}", "path": path} for k, path in kinds.items()]
    (folder / "modules.json").write_text(json.dumps(modules))
    read_settings(str(folder), {}, cls_last=False)


@pytest.mark.parametrize("act", [_shards_of_weights, _vocabulary, _records, _pooling])
@given(name=_NAMES | _NO_NAMES)
def test_names_that_lead_elsewhere_are_refused(act, name, tmp_path_factory):
    with pytest.raises(UserError, match=r"beside it") as error:
        act(tmp_path_factory.mktemp("folder"), name)
    assert "\n" not in str(error.value)


@given(
    name=_NAMES,
    parts=st.lists(st.from_regex(r"\.{0,2}[\w-][\w. -]*", fullmatch=True), min_size=1),
)
def test_hostile_names_are_none_and_plain_ones_are_some(name, parts):
    assert not storage.is_inside(name) and not storage.is_name(name)
    assert storage.is_inside("/".join(parts)) and storage.is_name(parts[0])


@pytest.mark.slow
def test_the_state_of_a_checkpoint_is_read_relative_to_its_folder(
    tiny_config, tmp_path
):
    folder, model = tmp_path / "model", albert_tf.AlbertModel(tiny_config())
    state, own = folder / "checkpoint", str(folder / "model.ckpt-5")
    other = f"{tmp_path}/other/model.ckpt-"
    for prefix in (own, f"{other}5"):
        save_tf1_checkpoint(model, prefix)
    for name in ("model.ckpt-5", "/gone/model.ckpt-5", f"{other}5"):
        state.write_text(f'model_checkpoint_path: "{name}"\n')
        assert find_tf1_prefix(str(folder)) == own
    save_tf1_checkpoint(model, f"{other}6")
    refused = {
        f'model_checkpoint_path: "{other}6"\n'.encode(): "in another folder; name",
        b'model_checkpoint_path: "../other/model.ckpt-6"\n': "in another folder; name",
        b'model_checkpoint_path: "\xff"': "checkpoint is damaged",
        b"\0\xff": "checkpoint is damaged",
    }
    for content, message in refused.items():
        state.write_bytes(content)
        with pytest.raises(UserError, match=message):
            find_tf1_prefix(str(folder))
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "checkpoint").write_text('model_checkpoint_path: "gone"\n')
    assert find_tf1_prefix(str(tmp_path / "empty")) is None


@pytest.mark.parametrize("kind", ["link", "dataset"])
def test_weights_of_another_file(kind, tiny_config, tmp_path):
    """HDF5 can name other files, whose contents would count as weights."""
    albert_tf.AlbertModel(tiny_config()).save_pretrained(tmp_path)
    (tmp_path / "SHA256SUMS").unlink()
    secret, raw, names = tmp_path / "secret.h5", tmp_path / "secret", {}
    with h5py.File(secret, "w") as file:
        file["a"] = np.zeros(12, np.float32)
    raw.write_bytes(bytes(48))
    with h5py.File(tmp_path / "model.weights.h5", "r+") as weights:
        weights.visititems(
            lambda name, item: names.update({getattr(item, "shape", None): name})
        )
        name = names[12,]
        del weights[name]
        if kind == "link":
            weights[name] = h5py.ExternalLink(str(secret), "a")
        else:
            weights.create_dataset(name, (12,), "f4", external=[(str(raw), 0, 48)])
    with pytest.raises(UserError, match="names other files to read weights from"):
        albert_tf.AlbertModel.from_pretrained(tmp_path)


def test_a_data_set_is_not_made_behind_a_link(stranger):
    (stranger / ".unfinished").symlink_to("../victim")
    paths = {"train": [str(stranger / "train.tfrecord")]}
    shards = FinishedShards(paths, str(stranger), "of")
    parts = {"train": {"counts": {}, "file": {"bytes": 1}}}
    shards.mark(0, parts)
    assert (stranger / ".unfinished" / "0.json").exists()
    shards.forget()
    assert not (stranger / ".unfinished").exists()
