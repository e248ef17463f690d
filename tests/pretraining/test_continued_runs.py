"""A continued run is the run that it continues: its flags, and the things they name."""

import json
import shutil

import numpy as np
import pytest

import albert_tf
from albert_tf.config import AlbertConfig
from albert_tf.engine.resumption import check_identity
from albert_tf.engine.resumption import stored_values
from albert_tf.errors import UserError
from albert_tf.pretraining import run as command
from data_pipeline.train_tokenizer import TokenizerOptions
from data_pipeline.train_tokenizer import train_tokenizer
from tests.corpus import make_records


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


def make_data(files, **changes):
    """Another data set under the same name."""
    shutil.rmtree(files / "data")
    make_records(files, "data", **changes)


@pytest.mark.slow
def test_another_vocabulary_of_the_same_size(continued, files):
    lines = (files / "corpus.txt").read_text().replace("cat", "owl").split("\n")
    (files / "other.txt").write_text("\n".join(reversed(lines)))
    corpus = str(files / "other.txt")
    named = {"input_file": corpus, "output_prefix": str(files / "vocab")}
    train_tokenizer(TokenizerOptions(**named, vocab_size=36, like="official"))
    make_data(files)
    with pytest.raises(UserError, match="The fingerprint of the vocabulary .* is "):
        continued(restart_data=True)


def test_the_same_content_by_other_paths(continued, files, monkeypatch):
    """Content is a run's identity; the spelling of its path is not."""
    (files / "vocab.model").rename(files / "moved.model")
    monkeypatch.chdir(files)
    moved = {"spm_model_file": files / "moved.model"}
    continued(input_file="data/train.tfrecord", **moved)
    with pytest.raises(UserError, match="--input_file is data/held_out/.* but the"):
        continued(input_file="data/held_out/*.tfrecord", **moved)


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
def test_another_configuration_of_equal_shapes(continued, files):
    path = files / "config.json"
    known = json.loads(path.read_text())
    path.write_text(json.dumps({**known, "num_attention_heads": 4}))
    message = "num_attention_heads in .*config.json is 4, but the run in out has 2;"
    with pytest.raises(UserError, match=message):
        continued(restart_data=True)
    path.write_text(json.dumps({**known, "hidden_dropout_prob": 0.1}))
    continued()  # dropout may change


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sentence_objective": "none"}, "is masked_lm, but .* masked_lm, sentence_or"),
        ({"optimizer": "adamw"}, "--optimizer is adamw, but .* has lamb;"),
        (
            {"first_phase_steps": 1, "second_phase_gradient_accumulation_steps": 2},
            "The batch of each .* --first_phase_.* pass --restart_data",
        ),
    ],
)
def test_other_flags(continued, changes, message):
    with pytest.raises(UserError, match=message):
        continued(**changes)


@pytest.mark.slow
@pytest.mark.usefixtures("batches_read")
def test_a_run_is_refused_before_its_checkpoint_is_restored(changed, files):
    """Its checkpoint has a place in the data for each stage, and is not damaged."""

    command.pretrain(changed(num_train_steps=1))
    make_data(files, random_seed=7)
    with pytest.raises(UserError, match="The digest of the files of .* --restart_data"):
        command.pretrain(changed(num_train_steps=2))


@pytest.mark.slow
def test_data_that_was_moved(run, material, tmp_path, lines, batches_read):
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
