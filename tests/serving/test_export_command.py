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


@pytest.mark.parametrize(
    ("left_out", "message"),
    [
        (("SHA256SUMS",), "pieces, but the model's vocab_size is"),
        (("SHA256SUMS", "tokenizer_config.json", "vocab.txt"), "found none"),
    ],
)
def test_a_tokenizer_that_does_not_fit(saved_model, tmp_path, left_out, message):
    folder = tmp_path / "model"
    shutil.copytree(saved_model("classification"), folder)
    with open(folder / "vocab.txt", "a", encoding="utf-8") as file:
        file.write("more\n")
    for name in left_out:
        (folder / name).unlink()
    with pytest.raises(UserError, match=message):
        export(ExportOptions(str(folder), str(tmp_path / "m")))
    assert not (tmp_path / "m").exists()


def refuse(folder, target, message, **options):
    with pytest.raises(UserError, match=message):
        export(ExportOptions(str(folder), str(target), **options))
    assert not list(target.iterdir())


def test_features_without_a_name_of_hugging_face(saved_model, tmp_path):
    options = {"format": "onnx", "task": "masked_lm", "input_names": "huggingface"}
    message = "also takes masked_lm_positions; leave it out"
    refuse(saved_model("pretraining"), tmp_path, message, **options)


_BFLOAT16 = {"compute_dtype": "bfloat16"}
_FLOAT32 = {"compute_dtype": "float32", "format": "onnx"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({**_BFLOAT16, "variables_dtype": "float16"}, "float16 does not go with"),
        ({**_BFLOAT16, "optimize_for": "latency"}, "latency does not go .* with XLA"),
        ({**_BFLOAT16, "format": "onnx"}, "needs --format=saved_model, not onnx"),
        ({"compute_dtype": "int8", "format": "tflite"}, "onnx or openvino, not tflite"),
        ({**_FLOAT32, "variables_dtype": "float16"}, "=float16 is for --format=saved"),
        ({"input_names": "huggingface"}, "for --format=onnx, not --format=saved_model"),
    ],
)
def test_options_that_do_not_go_together(saved_model, tmp_path, options, message):
    refuse(saved_model("classification"), tmp_path, message, **options)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("classification", _BFLOAT16, "dev.tsv"),
        (
            "classification",
            {**_BFLOAT16, "text_pair_column": "b"},
            "takes single texts",
        ),
        ("encoder", _BFLOAT16, "needs one fine-tuned model, but this export is enc"),
        ("encoder", {"format": "tflite"}, "needs one fine-tuned model"),
        ("question_answering", _BFLOAT16, "--eval_file compares models that take"),
        ("similarity", _BFLOAT16, "but .* is for embedding; leave"),
    ],
)
def test_a_table_that_does_not_fit(saved_model, tmp_path, kind, options, message):
    refuse(saved_model(kind), tmp_path, message, eval_file="dev.tsv", **options)
