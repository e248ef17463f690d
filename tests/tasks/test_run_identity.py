"""A fine-tuning run goes on from the same things, and from nothing else."""

import concurrent.futures
import json
import shutil

import pytest

from albert_tf.errors import UserError
from albert_tf.io.folder_lock import folder_lock
from albert_tf.models.classification import AlbertForSequenceClassification
from albert_tf.tokenization import load_tokenizer
from tests.tasks.conftest import APPLIED
from tests.tasks.conftest import FINISHED


def _with_another_label(rows):
    label, text = rows[3].split("\t")
    other = "no" if label == "yes" else "yes"
    return [*rows[:3], f"{other}\t{text}", *rows[4:]]


@pytest.mark.slow
def test_what_has_changed_is_refused(flags, finished, tmp_path):
    """Tables, files whose names are the same, and flags."""

    def refused(message, **changes):
        # The run is finished: without this it would train nothing and say nothing.
        with pytest.raises(UserError, match=message):
            flags(**FINISHED, **changes)

    for name, change in (
        ("train", _with_another_label),
        ("dev", lambda rows: [*rows[:3], f"{rows[3]} very", *rows[4:]]),
    ):
        path = tmp_path / "data" / f"{name}.tsv"
        before = path.read_text()
        path.write_text("\n".join(change(before.splitlines())) + "\n")
        refused(f"The digest of .*{name}.tsv is .*, but the run in .*out.* has ")
        path.write_text(before)
    config = tmp_path / "tiny.json"
    values = config.read_text()
    config.write_text(json.dumps({**json.loads(values), "hidden_act": "relu"}))
    refused("hidden_act of the model's configuration is relu, but the run in .* has g")
    config.write_text(values)
    vocab = tmp_path / "vocab.txt"
    pieces = vocab.read_text()
    vocab.write_text(pieces.replace("good\nbad", "bad\ngood"))
    refused("The vocabulary's fingerprint is .*, but")
    vocab.write_text(pieces)
    refused("--learning_rate is 0.1, but the run in .* has 0.005;", learning_rate=0.1)
    flags(**FINISHED, eval_batch_size=3, data_dir=tmp_path / "data" / ".." / "data")


@pytest.mark.slow
def test_a_start_is_known_by_its_weights(flags, finished, tmp_path):
    """The folder may move, and be named in another way."""
    run = {**FINISHED, **APPLIED, "output_dir": tmp_path / "second"}
    shutil.copytree(finished / "model", tmp_path / "start")
    flags(**run, init_checkpoint=tmp_path / "start")
    (tmp_path / "start").rename(tmp_path / "moved")
    flags(**run, init_checkpoint=tmp_path / "moved", do_eval=True)
    other = AlbertForSequenceClassification.from_pretrained(tmp_path / "moved")
    other.official_variables()["output_bias"].assign([1.0, 2.0])
    other.save_pretrained(tmp_path / "other", load_tokenizer(tmp_path / "moved"))
    with pytest.raises(
        UserError, match="weights of --init_checkpoint is .*, but the r"
    ):
        flags(**run, init_checkpoint=tmp_path / "other")


@pytest.mark.parametrize("run", [FINISHED, {"do_eval": True}])
def test_two_runs_do_not_write_into_one_folder(run, flags, tmp_path):
    (tmp_path / "out").mkdir()
    message = "out is in use by process .*; wait until that run ends"
    with (
        folder_lock(tmp_path / "out"),
        concurrent.futures.ThreadPoolExecutor() as other_thread,
        pytest.raises(UserError, match=message),
    ):
        other_thread.submit(flags, **run).result()
