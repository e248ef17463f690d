"""The export command: versions, lengths, and its refusals."""

import shutil

import pytest

from albert_tf.errors import UserError
from albert_tf.serving import export as export_command
from albert_tf.serving.export import ExportOptions
from albert_tf.serving.export import export
from albert_tf.serving.predictor import Predictor
from albert_tf.serving.serving_module import OPTIMIZATIONS
from albert_tf.token_files import WRITERS


def test_the_flags_offer_what_there_is():
    assert tuple(WRITERS) == export_command.TOKEN_FORMATS
    assert tuple(OPTIMIZATIONS) == export_command.OPTIMIZATIONS


@pytest.mark.slow
def test_next_version_and_no_remains_of_a_failure(classifier, tmp_path, monkeypatch):
    options = ExportOptions(str(classifier.model_dir), str(tmp_path / "m"))
    (tmp_path / "m" / "4").mkdir(parents=True)
    assert export(options).name == "5"

    def fail(*arguments):
        raise OSError("disk full")

    monkeypatch.setattr("albert_tf.serving.writing.write_warmup_requests", fail)
    with pytest.raises(OSError, match="disk full"):
        export(options)
    assert sorted(p.name for p in (tmp_path / "m").iterdir()) == ["4", "5"]


@pytest.mark.slow
def test_shorter_length_is_honoured(encoder, tmp_path):
    options = ExportOptions(
        str(encoder.model_dir), str(tmp_path / "m"), max_seq_length=6
    )
    export(options)
    answers = Predictor(tmp_path / "m").arrays(["good " * 50])
    assert answers["input_ids"].shape == (1, 6)


def test_mistakes_are_one_clear_error(encoder, classifier, tmp_path):
    target = str(tmp_path / "m")
    with pytest.raises(UserError, match="task=classification does not fit"):
        export(ExportOptions(str(encoder.model_dir), target, task="classification"))
    with pytest.raises(UserError, match="max_seq_length=33: expected 5 to 32"):
        export(ExportOptions(str(classifier.model_dir), target, max_seq_length=33))
    with pytest.raises(UserError, match="max_seq_length=0: expected 5 to 32"):
        export(ExportOptions(str(classifier.model_dir), target, max_seq_length=0))
    with pytest.raises(UserError, match="--export_dir=ram://a is not on a disk"):
        export(ExportOptions(str(classifier.model_dir), "ram://a"))
    with pytest.raises(UserError, match="no file or folder .*nothing; correct"):
        export(ExportOptions(str(tmp_path / "nothing"), target))
    other = tmp_path / "other"
    shutil.copytree(classifier.model_dir, other)
    with open(other / "vocab.txt", "a", encoding="utf-8") as file:
        file.write("more\n")
    (other / "SHA256SUMS").unlink()
    with pytest.raises(UserError, match="pieces, but the model's vocab_size is"):
        export(ExportOptions(str(other), target))
    bare = tmp_path / "bare"
    shutil.copytree(classifier.model_dir, bare)
    (bare / "vocab.txt").unlink()
    (bare / "tokenizer_config.json").unlink()
    (bare / "SHA256SUMS").unlink()
    with pytest.raises(UserError, match="found none"):
        export(ExportOptions(str(bare), target))
    assert not (tmp_path / "m").exists()
