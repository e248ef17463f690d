"""A continued run is the run that it continues: its flags, and the things they name."""

import json
import shutil

import pytest

import albert_tf
from albert_tf.cli.command_line import parse
from albert_tf.config import AlbertConfig
from albert_tf.engine.checkpointing import RunRecord
from albert_tf.errors import UserError
from albert_tf.pretraining.flags import PretrainingOptions
from albert_tf.pretraining.run import pretrain
from albert_tf.pretraining.settings import resolve
from data_pipeline.create_pretraining_data import create_pretraining_data
from data_pipeline.options import DataOptions
from data_pipeline.train_tokenizer import TokenizerOptions
from data_pipeline.train_tokenizer import train_tokenizer


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """One folder of all tests, for checkpoints hold the paths of what they name."""
    return tmp_path_factory.mktemp("continued")


@pytest.fixture(autouse=True)
def files(material, folder):
    """Copies of the vocabulary, the configuration and the data, to be changed."""
    files = folder / "files"
    shutil.rmtree(files, ignore_errors=True)
    shutil.copytree(material / "data", files / "data")
    for name in ("corpus.txt", "vocab.model", "config.json"):
        shutil.copy(material / name, files / name)
    return files


@pytest.fixture
def run(flags, files):
    """Pretrains on the copies up to a step."""

    def train(steps, **changes):
        changes = {
            "input_file": files / "data" / "train.tfrecord",
            "eval_file": None,
            "spm_model_file": files / "vocab.model",
            "albert_config_file": files / "config.json",
            "output_dir": files / "model",
            "num_train_steps": steps,
            **changes,
        }
        pretrain(
            resolve(
                parse(PretrainingOptions, ["run_pretraining.py", *flags(**changes)])
            )
        )

    return train


@pytest.fixture
def begun(run, files, folder):
    """A run after its first step, which is trained once for all tests."""
    if (folder / "begun").exists():
        shutil.copytree(folder / "begun", files / "model")
    else:
        run(1)
        shutil.copytree(files / "model", folder / "begun")


def make_vocabulary(files):
    """Another vocabulary of the same size, under the same name."""
    lines = (files / "corpus.txt").read_text().replace("cat", "owl").split("\n")
    (files / "other.txt").write_text("\n".join(reversed(lines)))
    corpus = str(files / "other.txt")
    options = {"input_file": corpus, "output_prefix": str(files / "vocab")}
    train_tokenizer(TokenizerOptions(**options, vocab_size=36))


def make_data(files, **changes):
    """Another data set under the same name."""
    shutil.rmtree(files / "data")
    create_pretraining_data(
        DataOptions(
            input_file=str(files / "corpus.txt"),
            output_file=str(files / "data" / "train.tfrecord"),
            spm_model_file=str(files / "vocab.model"),
            dupe_factor=1,
            workers=1,
            **{"max_seq_length": 16, "max_predictions_per_seq": 3, **changes},
        )
    )


def write_config(files, **changes):
    path = files / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


@pytest.mark.usefixtures("begun")
def test_another_vocabulary_of_the_same_size(run, files):
    make_vocabulary(files)
    make_data(files)
    for changes in ({}, {"restart_data": True}):
        with pytest.raises(UserError, match="The fingerprint of the vocabulary .* is "):
            run(2, **changes)


@pytest.mark.usefixtures("begun")
def test_the_same_content_by_other_paths(run, files, monkeypatch):
    """Content is a run's identity; the spelling of its path is not."""
    (files / "vocab.model").rename(files / "moved.model")
    monkeypatch.chdir(files)
    run(1, spm_model_file=files / "moved.model", input_file="data/train.tfrecord")
    others = "data/held_out/*.tfrecord"
    with pytest.raises(UserError, match="--input_file is data/held_out/.* but the"):
        run(1, spm_model_file=files / "moved.model", input_file=others)


def test_another_start_model(run, files, material):
    config = AlbertConfig.from_json_file(files / "config.json")
    for name in ("one", "other"):
        albert_tf.AlbertForPreTraining(config).save_pretrained(files / name)
    run(1, init_checkpoint=files / "one")
    (files / "one").rename(files / "moved")
    run(1, init_checkpoint=files / "moved")
    run(1)  # The weights are in the checkpoint.
    with pytest.raises(UserError, match="The fingerprint of the weights of --init_ch"):
        run(1, init_checkpoint=files / "other")


@pytest.mark.usefixtures("begun")
@pytest.mark.parametrize(
    ("field", "value", "before"),
    [
        ("num_hidden_layers", 2, 1),
        ("num_attention_heads", 4, 2),
        ("hidden_act", "relu", "gelu"),
    ],
)
def test_another_configuration_of_equal_shapes(run, files, field, value, before):
    write_config(files, **{field: value})
    message = f"{field} in .*config.json is {value}, but the run in .* has {before};"
    for changes in ({}, {"restart_data": True}):
        with pytest.raises(UserError, match=message):
            run(2, **changes)


@pytest.mark.usefixtures("begun")
def test_dropout_may_change(run, files):
    write_config(files, hidden_dropout_prob=0.1)
    run(1)


@pytest.mark.slow
@pytest.mark.usefixtures("begun")
def test_data_made_anew(run, files):
    make_data(files, random_seed=7)
    with pytest.raises(
        UserError, match="The digest of the files of .* --restart_data to"
    ):
        run(2)
    run(2, restart_data=True)
    run(2)  # The data are those of the run, from then on.


@pytest.mark.slow
def test_another_ramp_is_blamed_on_its_flags(run):
    """Not on a damaged checkpoint: it holds a place for each stage."""
    run(3, batch_ramp_steps=2, gradient_accumulation_steps=4)
    now = {"batch_ramp_steps": 2, "gradient_accumulation_steps": 2}
    with pytest.raises(UserError, match=_OTHER_BATCHES):
        run(4, **now)
    run(4, **now, restart_data=True)


@pytest.mark.slow
@pytest.mark.usefixtures("begun")
def test_a_second_phase_is_blamed_on_its_flags(run):
    now = {"first_phase_steps": 1, "second_phase_gradient_accumulation_steps": 2}
    with pytest.raises(UserError, match=_OTHER_BATCHES):
        run(2, **now)
    run(2, **now, restart_data=True)


_OTHER_BATCHES = (
    "The batch of each .* --gradient_accumulation_steps and --first_phase_.* "
    "pass --restart_data"
)


@pytest.mark.usefixtures("begun")
def test_what_is_learned(run):
    with pytest.raises(UserError) as error:
        run(2, sentence_objective="none")
    assert "--sentence_objective and the data let the model learn" in str(error.value)
    assert "is masked_lm, but" in str(error.value)
    assert "has masked_lm, sentence_order;" in str(error.value)


@pytest.mark.usefixtures("begun")
def test_the_optimizer(run):
    with pytest.raises(UserError, match="--optimizer is adamw, but .* has lamb;"):
        run(2, optimizer="adamw")


@pytest.mark.slow
def test_a_run_of_the_first_format_goes_on(run, files, monkeypatch):
    """Its checkpoints hold some flags of its data, and nothing of what they name."""
    earlier = {"input_file": str(files / "data" / "train.tfrecord")}
    earlier |= {"max_seq_length": 16, "second_phase_max_seq_length": None}
    with monkeypatch.context() as patch:
        patch.setattr(RunRecord, "serialize", lambda _: json.dumps(earlier))
        run(1)
    with pytest.raises(UserError, match="--input_file is .*held_out"):
        run(2, input_file=files / "data" / "held_out" / "*.tfrecord")
    run(2, max_seq_length=None)
    write_config(files, num_attention_heads=4)
    with pytest.raises(UserError, match="num_attention_heads in .* is 4, but"):
        run(3)
