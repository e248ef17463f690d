"""A continued run is the run that it continues: its flags, the things they name."""

import json
import pathlib
import shutil
import sys

import numpy as np
import pytest
import tensorflow as tf

import albert_tf
from albert_tf.config import AlbertConfig
from albert_tf.engine.resumption import check_identity
from albert_tf.engine.resumption import stored_values
from albert_tf.errors import UserError
from albert_tf.pretraining import run as command
from data_pipeline.train_tokenizer import TokenizerOptions
from data_pipeline.train_tokenizer import train_tokenizer
from tests.corpus import make_records
from tests.trackers import FakeWandb


@pytest.fixture
def files(material, tmp_path):
    """Copies of the vocabulary, the configuration and the data, to be changed."""
    files = shutil.copytree(material / "data", tmp_path / "files" / "data").parent
    for name in ("corpus.txt", "vocab.model", "config.json"):
        shutil.copy(material / name, files / name)
    return files


@pytest.fixture
def changed(settings, files):
    """Makes the settings of a run on the copies."""
    values = {
        "input_file": files / "data" / "train.tfrecord",
        "eval_file": None,
        "spm_model_file": files / "vocab.model",
        "albert_config_file": files / "config.json",
    }
    return lambda **changes: settings(**{**values, **changes})


@pytest.fixture
def identity(changed):
    """Builds a run, which is not trained; returns its identity."""
    return lambda **changes: command._prepare(changed(**changes))[-1].options.identity


@pytest.fixture
def continued(identity):
    """Continues the run that the files were for at first, as they are now."""
    begun = json.loads(json.dumps(stored_values(identity())))
    return lambda **changes: check_identity(identity(**changes), begun, "out")


def make_data(folder, name="data", **changes):
    """Another data set under the same name."""
    shutil.rmtree(folder / name)
    make_records(folder, name, **changes)


@pytest.mark.slow
def test_what_may_not_change(continued, files, monkeypatch):
    two = {"first_phase_steps": 1, "second_phase_gradient_accumulation_steps": 2}
    for changes, message in (
        ({"sentence_objective": "none"}, "is masked_lm, but .* masked_lm, sentence_or"),
        ({"optimizer": "adamw"}, "--optimizer is adamw, but .* has lamb;"),
        (two, "The batch of each .* --first_phase_.* pass --restart_data"),
    ):
        with pytest.raises(UserError, match=message):
            continued(**changes)
    # A configuration of equal shapes; dropout may change.
    path = files / "config.json"
    known = json.loads(path.read_text())
    path.write_text(json.dumps({**known, "num_attention_heads": 4}))
    message = "num_attention_heads in .*config.json is 4, but the run in out has 2;"
    with pytest.raises(UserError, match=message):
        continued(restart_data=True)
    path.write_text(json.dumps({**known, "hidden_dropout_prob": 0.1}))
    continued()
    # Content is a run's identity; the spelling of its path is not.
    (files / "vocab.model").rename(files / "moved.model")
    monkeypatch.chdir(files)
    moved = {"spm_model_file": files / "moved.model"}
    continued(input_file="data/train.tfrecord", **moved)
    with pytest.raises(UserError, match="--input_file is data/held_out/.* but the"):
        continued(input_file="data/held_out/*.tfrecord", **moved)
    # Another vocabulary of the same size.
    lines = (files / "corpus.txt").read_text().replace("cat", "owl").split("\n")
    (files / "other.txt").write_text("\n".join(reversed(lines)))
    named = {"input_file": "other.txt", "output_prefix": str(files / "vocab")}
    train_tokenizer(TokenizerOptions(**named, vocab_size=36, like="official"))
    make_data(files)
    with pytest.raises(UserError, match="The fingerprint of the vocabulary .* is "):
        continued(restart_data=True)


@pytest.mark.slow
def test_another_start_model(identity, files):
    config = AlbertConfig.from_json_file(files / "config.json")
    for name in ("one", "other"):
        albert_tf.AlbertForPreTraining(config).save_pretrained(files / name)
    begun = stored_values(identity(init_checkpoint=files / "one"))
    (files / "one").rename(files / "moved")
    check_identity(identity(init_checkpoint=files / "moved"), begun, "out")
    check_identity(identity(), begun, "out")  # The weights are in the checkpoint.
    with pytest.raises(UserError, match="The fingerprint of the weights of --init_ch"):
        check_identity(identity(init_checkpoint=files / "other"), begun, "out")


@pytest.mark.slow
def test_data_that_was_moved_or_made_again(
    run, material, tmp_path, lines, batches_read
):
    def go_on(steps, folder="data", **changes):
        changes |= {"input_file": tmp_path / folder / "train*", "eval_file": None}
        run(num_train_steps=steps, **changes)

    data = shutil.copytree(material / "data", tmp_path / "data")
    go_on(2)
    data.rename(tmp_path / "moved")
    with pytest.raises(UserError, match="No checkpoint in .* with --restart_data if"):
        go_on(3, "moved")
    go_on(3, "moved", restart_data=True)
    go_on(4, "moved")  # The data are those of the run, from then on.
    steps = [line for line in lines if line.startswith("Continuing")]
    assert [line.split()[3] for line in steps] == ["2", "3"]
    first, second, again, after = batches_read
    assert not np.array_equal(first, second)
    np.testing.assert_array_equal(again, first)
    np.testing.assert_array_equal(after, second)
    # Refused before its checkpoint is restored, which is not damaged.
    for name in ("corpus.txt", "vocab.model"):
        shutil.copy(material / name, tmp_path / name)
    make_data(tmp_path, "moved", random_seed=7)
    with pytest.raises(UserError, match="The digest of the files of .* --restart_data"):
        go_on(5, "moved")


def tags(directory):
    """The steps of each TensorBoard tag of the training."""
    found = {}
    for path in pathlib.Path(directory, "train").iterdir():
        for event in tf.compat.v1.train.summary_iterator(str(path)):
            for value in event.summary.value:
                found.setdefault(value.tag, []).append(event.step)
    return found


@pytest.mark.slow
@pytest.mark.pictures
def test_the_files_of_a_continued_run(
    run, reading_only, material, tmp_path, monkeypatch
):
    """With every flag of looking in its second part."""
    wandb = FakeWandb()
    monkeypatch.setitem(sys.modules, "wandb", wandb)
    with reading_only():
        run(num_train_steps=2, eval_file=None)
    output = tmp_path / "model"
    assert "model_flop_utilisation" not in tags(output)  # nobody knows a CPU's peak
    looking = {"histogram_steps": 5, "profile_steps": "6:7", "peak_teraflops": 0.5}
    steps = {"num_train_steps": 10, "iterations_per_loop": 100, "eval_steps": 10}
    run(**looking, **steps, track="wandb")
    found = tags(output)
    assert found["variables/trust_ratio"] == [5, 10]
    assert found["weight_norm/bert/embeddings/word_embeddings"] == [5, 10]
    assert sorted(found["loss"]) == [2, 4, 5, 6, 7, 9, 10]
    assert sorted(found["model_flop_utilisation"]) == [4, 5, 6, 7, 9, 10]
    tracked = {step for _, step, values in wandb.logged if "train/loss" in values}
    assert tracked == {4, 5, 6, 7, 9, 10}
    assert any("eval/masked_lm_accuracy" in values for *_, values in wandb.logged)
    assert wandb.begun[0]["config"]["train_batch_size"] == 16
    assert (output / "curves.png").read_bytes()[:4] == b"\x89PNG"
    info = json.loads((output / "training_info.json").read_text())
    assert info["step"] == 10
    assert info["evaluations"] == json.loads((output / "history.json").read_text())
    assert info["random_seed"] == info["options"]["random_seed"] == 12345
    data = json.loads((material / "data" / "dataset_info.json").read_text())
    assert info["data"] == {str(material / "data"): data}
    assert info["versions"]["tensorflow"] == tf.__version__
