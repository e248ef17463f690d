"""The export command: numbered versions, no remains of failures, and its refusals."""

import errno
import os
import shutil
from unittest import mock

import pytest

from albert_tf.errors import UserError
from albert_tf.serving import export as export_command
from albert_tf.serving import writing
from albert_tf.serving.serving_module import OPTIMIZATIONS
from albert_tf.serving.versions import exporting_folder
from albert_tf.serving.versions import numbered_versions
from albert_tf.token_files import WRITERS
from tests.serving.answers import exported


@pytest.fixture
def export_dir(tmp_path):
    return tmp_path / "models" / "a[1]"


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def make_old(path):
    (path / "file").write_text("x")
    os.utime(path, (1, 1))


def test_the_flags_offer_what_there_is():
    assert tuple(WRITERS) == export_command.TOKEN_FORMATS
    assert tuple(OPTIMIZATIONS) == export_command.OPTIMIZATIONS


def test_next_version_and_no_remains_of_a_failure(saved_model, tmp_path, monkeypatch):
    described, folder, target = [], saved_model("classification"), tmp_path / "m"
    monkeypatch.setattr(writing, "_save", lambda *arguments: None)
    monkeypatch.setattr(writing, "_describe", lambda *facts: described.append(facts))
    (target / "4").mkdir(parents=True)
    flags = [f"--model_dir={folder}", f"--export_dir={target}", "--max_seq_length=6"]
    export_command.main(["", *flags, "--task=encoder"])
    ((_, module, _, facts, _),) = described
    assert (facts["name"], facts["serves"]) == ("m", "encoder")
    assert module.text_features(["good " * 50])["input_ids"].shape == (1, 6)
    full = mock.Mock(side_effect=OSError("disk full"))
    monkeypatch.setattr(writing, "_write_checksums", full)
    with pytest.raises(OSError, match="disk full"):
        exported(folder, target)
    assert names(target) == ["4", "5"]


def test_what_killed_exports_have_left_is_removed(export_dir):
    left = export_dir / ".exporting-1"
    new = export_dir / ".exporting-2"  # perhaps about to be locked
    for path in (left, new, export_dir / "3", export_dir / "mine"):
        path.mkdir(parents=True)
        make_old(path)
    os.utime(new)
    with exporting_folder(export_dir) as slow:
        assert not left.exists()
        make_old(slow)
        with exporting_folder(export_dir) as other:
            assert slow.exists() and other != slow
        assert slow.exists()
    left.mkdir()
    make_old(left)
    with exporting_folder(export_dir):
        assert not left.exists()
    assert names(export_dir) == [".exporting-2", "3", "mine"]


def test_what_ends_an_export_is_told_and_leaves_nothing(export_dir, lines):
    with pytest.raises(KeyboardInterrupt), exporting_folder(export_dir):
        raise KeyboardInterrupt
    assert lines == [f"Nothing was exported: {export_dir} has no new version"]
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with (
        pytest.raises(OSError, match="No space") as error,
        exporting_folder(export_dir),
    ):
        raise full
    assert error.value.filename == str(export_dir)
    assert names(export_dir) == []
    with pytest.raises(FileNotFoundError) as error, exporting_folder(export_dir):
        (export_dir / "no").read_bytes()
    assert error.value.filename.endswith("no")


def test_numbers_count_as_numbers(export_dir):
    assert numbered_versions(export_dir) == {}
    for name in ("9", "10", "x", "²", ".exporting-1"):
        (export_dir / name).mkdir(parents=True)
    (export_dir / "11").write_text("")
    found = numbered_versions(export_dir)
    assert found == {9: export_dir / "9", 10: export_dir / "10"}


def test_a_tokenizer_that_does_not_fit(saved_model, tmp_path):
    folder = shutil.copytree(saved_model("classification"), tmp_path / "model")
    with open(folder / "vocab.txt", "a", encoding="utf-8") as file:
        file.write("more\n")
    (folder / "SHA256SUMS").unlink()
    with pytest.raises(UserError, match="pieces, but the model's vocab_size is"):
        exported(folder, tmp_path / "m")
    assert not (tmp_path / "m").exists()


_BFLOAT16 = {"compute_dtype": "bfloat16"}
_COMPARED = {**_BFLOAT16, "eval_file": "dev.tsv"}
_PAIRS = {**_COMPARED, "text_pair_column": "b"}
_ONNX = {"format": "onnx"}
_MASKED = {**_ONNX, "task": "masked_lm", "input_names": "huggingface"}
_STRINGS = {**_ONNX, "text_in": True}
_NAMED = {**_STRINGS, "input_names": "huggingface"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        ("pretraining", _MASKED, "also takes masked_lm_positions; leave it out"),
        ("encoder", {**_BFLOAT16, "variables_dtype": "float16"}, "does not go with"),
        ("encoder", {**_BFLOAT16, "optimize_for": "latency"}, "not go .* with XLA"),
        ("encoder", {**_BFLOAT16, **_ONNX}, "--format=saved_model, not onnx"),
        ("encoder", {"eval_file": "dev.tsv"}, "exports that change answers: add --com"),
        ("encoder", _COMPARED, "needs one fine-tuned model, but this export is enc"),
        ("classification", _PAIRS, "takes single texts; leave out --text_pair_column"),
        ("pairs", _COMPARED, "takes pairs of texts; give --text_pair_column"),
        ("question_answering", _COMPARED, "--eval_file compares models that take"),
        ("classification", _STRINGS, "cuts words of unknown characters otherwise"),
        ("classification modernbert", _STRINGS, "has no ModernBERT's tokenizer"),
        ("tagging xlnet", _STRINGS, "a row of tokens is not all that tagging needs"),
        ("pairs xlnet", {**_STRINGS, "format": "tflite"}, "is for --format=onnx"),
        ("pairs xlnet", _NAMED, "without --input_names"),
    ],
)
def test_what_does_not_go_together(saved_model, tmp_path, model, options, message):
    with pytest.raises(UserError, match=message):
        exported(saved_model(*model.split()), tmp_path, **options)
    assert not list(tmp_path.iterdir())
