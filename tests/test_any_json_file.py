"""Readers of JSON files give their contents, or name the file in a `UserError`."""

import dataclasses
import json

import pytest
from hypothesis import example
from hypothesis import given
from hypothesis import strategies as st

from albert_tf.checkpoints.huggingface import read_huggingface_config
from albert_tf.checkpoints.model_directory import read_training_info
from albert_tf.config import AlbertConfig
from albert_tf.errors import UserError
from albert_tf.tasks.classification.text_task import SingleLabel
from albert_tf.tasks.registry import task_of
from albert_tf.tokenization import load_tokenizer
from data_pipeline.records import dataset_info
from tools.fuzz.inputs import json_files

_SIZES = {
    "vocab_size": 5,
    "embedding_size": 8,
    "hidden_size": 12,
    "num_attention_heads": 3,
}
_CONFIG = json.loads("""{"hidden_act": "gelu", "initializer_range": 0.02,
    "parameter_sharing": "ffn", "net_structure_type": 0}""")
_THEIR_CONFIG = json.loads("""{"model_type": "albert", "hidden_act": "gelu_new",
    "layer_norm_eps": 1e-12, "architectures": ["AlbertForMaskedLM"],
    "classifier_dropout_prob": 0.1}""")
_THEIR_XLNET = json.loads("""{"vocab_size": 5, "d_model": 12, "n_head": 3, "n_layer": 2,
    "model_type": "xlnet", "ff_activation": "gelu", "mem_len": null, "clamp_len": -1,
    "layer_norm_eps": 1e-12}""")
_DATASET = json.loads("""{"schema_version": 1, "kind": "static", "max_seq_length": 16,
    "max_predictions_per_seq": 3, "sentence_objective": "sop",
    "masking": {"masked_lm_prob": 0.15, "ngram": 3, "favor_shorter_ngram": true,
        "do_whole_word_mask": true, "do_permutation": false},
    "tokenizer": {"kind": "wordpiece", "fingerprint": "abc", "vocab_size": 7,
        "do_lower_case": true},
    "files": {"a.tfrecord": {"bytes": 10, "records": 2, "sha256": "00"}}}""")
_TASK = {"kind": "single_label", "name": "sst-2", "labels": ["0", "1"], "pair": False}
_NESTED = b'{"normalizer": ' + b'{"normalizers": [' * 2000 + b"]}" * 2000 + b"}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("any")


def read_or_refused(folder, name, data, read):
    """Reads a file: (its JSON object, the result), or twice None if it is refused."""
    (folder / name).write_bytes(data)
    try:
        found = read()
    except UserError as error:
        assert name in str(error)
        assert len(str(error).splitlines()) == 1
        return None, None
    return json.loads(data), found


@given(data=json_files({**_SIZES, **_CONFIG}))
def test_a_configuration(folder, data):
    path = folder / "albert_config.json"
    values, config = read_or_refused(
        folder, path.name, data, lambda: AlbertConfig.from_json_file(path)
    )
    if config is not None:
        fields = {field.name for field in dataclasses.fields(config)}
        told = values.keys() & fields
        assert told
        assert all(getattr(config, name) == values[name] for name in told)
        config.to_json_file(path)
        assert AlbertConfig.from_json_file(path) == config


@given(data=json_files({**_SIZES, **_THEIR_CONFIG}) | json_files(_THEIR_XLNET))
@example(data=b'{"hidden_act": []}')
@example(data=b'{"model_type": "xlnet", "n_head": 0}')
def test_a_configuration_of_hugging_face(folder, data):
    values, found = read_or_refused(
        folder, "config.json", data, lambda: read_huggingface_config(folder)
    )
    if found is not None:
        _, config, entries = found
        assert entries == values or "NaN" in data.decode()
        if values.get("model_type") == "xlnet":
            assert config.n_layer == values.get("n_layer", 24)
            assert config.d_head == config.d_model // config.n_head
        else:
            assert config.vocab_size == values["vocab_size"]


@given(
    ours=st.none() | json_files({"file": "vocab.txt", "do_lower_case": False}),
    theirs=st.none() | json_files({"normalizer": {"type": "x", "lowercase": False}}),
)
@example(ours=None, theirs=b'{"normalizer": "Lowercase"}')
@example(ours=None, theirs=b'{"normalizer": {"normalizers": {}}}')
@example(ours=None, theirs=_NESTED)
def test_the_casing_of_a_tokenizer(folder, vocabulary, ours, theirs):
    (folder / "vocab.txt").write_text(vocabulary("aA"))
    for name, data in {"tokenizer_config.json": ours, "tokenizer.json": theirs}.items():
        (folder / name).unlink(missing_ok=True)
        if data is not None:
            (folder / name).write_bytes(data)
    try:
        tokenizer = load_tokenizer(folder)
    except UserError as error:
        assert str(folder) in str(error)
        return
    saved = json.loads(ours) if ours is not None else {}
    assert type(tokenizer.do_lower_case) is bool
    if "do_lower_case" in saved:
        assert tokenizer.do_lower_case is saved["do_lower_case"]
    assert tokenizer.encode("A") == [5 if tokenizer.do_lower_case else 6]


@example(data=b'{"task": {"kind": "single_label", "name": "", "labels": ["", ""]}}')
@given(data=json_files({"step": 3, "max_seq_length": 16, "task": _TASK, "dev": {}}))
def test_training_info_and_its_task(folder, data):
    def read():
        info = read_training_info(folder)
        try:
            return task_of(info, folder)
        except UserError as error:
            assert "training info of" in str(error)

    values, task = read_or_refused(folder, "training_info.json", data, read)
    if isinstance(task, SingleLabel):
        assert list(task.labels) == values["task"].get("labels", [])
        assert len(set(task.labels)) == len(task.labels)


@given(data=json_files(_DATASET))
@example(data=json.dumps({**_DATASET, "masking": []}).encode())
def test_a_description_of_data(folder, data):
    values, info = read_or_refused(
        folder, dataset_info.NAME, data, lambda: dataset_info.read(folder)
    )
    if info is not None:
        assert info == values or "NaN" in data.decode()
        assert info["max_seq_length"] > 0
        assert 0 <= info["masking"]["masked_lm_prob"] <= 1
        assert all(isinstance(name, str) and name for name in info["files"])
