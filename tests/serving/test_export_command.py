"""The export command: versions, lengths, and its refusals."""

import shutil

import pytest

from albert_tf.errors import UserError
from albert_tf.serving import export as export_command
from albert_tf.serving.export import ExportOptions
from albert_tf.serving.export import export
from albert_tf.serving.serving_module import OPTIMIZATIONS
from albert_tf.token_files import WRITERS


def test_the_flags_offer_what_there_is():
    assert tuple(WRITERS) == export_command.TOKEN_FORMATS
    assert tuple(OPTIMIZATIONS) == export_command.OPTIMIZATIONS


def test_next_version_and_no_remains_of_a_failure(
    planned, saved_model, tmp_path, monkeypatch
):
    folder = saved_model("classification")
    (tmp_path / "m" / "4").mkdir(parents=True)
    plan = planned(folder, "--max_seq_length=6", "--task=encoder")
    assert plan.version.name == "5"
    assert (plan.facts["name"], plan.facts["serves"]) == ("m", "encoder")
    assert plan.module.text_features(["good " * 50])["input_ids"].shape == (1, 6)

    def fail(*arguments):
        raise OSError("disk full")

    monkeypatch.setattr("albert_tf.serving.writing._write_checksums", fail)
    with pytest.raises(OSError, match="disk full"):
        export(ExportOptions(str(folder), str(tmp_path / "m")))
    assert sorted(p.name for p in (tmp_path / "m").iterdir()) == ["4", "5"]


def test_a_tokenizer_that_does_not_fit(saved_model, tmp_path):
    folder = shutil.copytree(saved_model("classification"), tmp_path / "model")
    with open(folder / "vocab.txt", "a", encoding="utf-8") as file:
        file.write("more\n")
    (folder / "SHA256SUMS").unlink()
    with pytest.raises(UserError, match="pieces, but the model's vocab_size is"):
        export(ExportOptions(str(folder), str(tmp_path / "m")))
    assert not (tmp_path / "m").exists()


_BFLOAT16 = {"compute_dtype": "bfloat16"}
_COMPARED = {**_BFLOAT16, "eval_file": "dev.tsv"}
_THEIRS = {"format": "onnx", "task": "masked_lm", "input_names": "huggingface"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("pretraining", _THEIRS, "also takes masked_lm_positions; leave it out"),
        ("encoder", {**_BFLOAT16, "variables_dtype": "float16"}, "does not go with"),
        ("encoder", {**_BFLOAT16, "optimize_for": "latency"}, "not go .* with XLA"),
        ("encoder", {**_BFLOAT16, "format": "onnx"}, "--format=saved_model, not onnx"),
        ("encoder", _COMPARED, "needs one fine-tuned model, but this export is enc"),
        ("classification", {**_COMPARED, "text_pair_column": "b"}, "takes single text"),
        ("question_answering", _COMPARED, "--eval_file compares models that take"),
    ],
)
def test_what_does_not_go_together(saved_model, tmp_path, kind, options, message):
    with pytest.raises(UserError, match=message):
        export(ExportOptions(str(saved_model(kind)), str(tmp_path), **options))
    assert not list(tmp_path.iterdir())
