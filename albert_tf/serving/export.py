"""Exports a model directory as a SavedModel that TensorFlow Serving takes as it is.

  albert-tf export --model_dir=out/model --export_dir=/models/sst-2

This writes /models/sst-2/1 (the next free number): text in, answers out, with the
tokenizer inside the graph, warm-up requests, signature.json and model_card.md. With
--format=onnx, openvino or tflite the command writes a model that takes token ids, and
the tokenizer; albert_tf.Predictor answers strings with any.
docs/serving.md says more.
"""

import dataclasses

from albert_tf.checkpoints.flags import ReadingFlags
from albert_tf.checkpoints.flags import obeys_reading_flags
from albert_tf.cli import command_line
from albert_tf.cli.command_line import option
from albert_tf.models.flags import AppliedExitFlags
from albert_tf.tasks.tables import ColumnFlags

SAVED_MODEL = "saved_model"
TOKEN_FORMATS = ("tflite", "onnx", "openvino")
OPTIMIZATIONS = ("latency", "throughput")


@dataclasses.dataclass(frozen=True)
class ExportOptions(ColumnFlags, AppliedExitFlags, ReadingFlags):
    """Model, format and target of an export."""

    model_dir: str = option(
        "Model directory to export, fine-tuned or pretrained; or several, separated "
        "by commas, that were fine-tuned with --freeze_encoder and are served "
        "together."
    )
    export_dir: str = option(
        "Folder to write the next version to; its last part names the model."
    )
    task: str = option(
        "Task of the export, such as encoder or masked_lm; auto takes what the "
        "model was fine-tuned for, or else the encoder.",
        "auto",
    )
    max_seq_length: int | None = option(
        "Largest length of an input in tokens; by default the length of fine-tuning, "
        "or else all positions of the model.",
        None,
    )
    optimize_for: str | None = option(
        "Aim. latency: XLA compiles functions for single texts when the model is "
        "loaded; throughput: texts of similar length in a batch are computed together. "
        "Neither changes the numbers.",
        None,
        OPTIMIZATIONS,
    )
    compute_dtype: str = option(
        "Type of the products. bfloat16, for saved_model, rounds the weights once, "
        "here: the file is half as large, and processors that multiply bfloat16 "
        "(AVX512_BF16, AMX) answer faster, others slower. int8, for onnx and openvino, "
        "is the fastest on CPUs. float16, for onnx, suits GPUs. Answers change a "
        "little; --eval_file says how much.",
        "float32",
        ("float32", "bfloat16", "float16", "int8"),
    )
    calibration_file: str | None = option(
        "Text file with 100 to 500 inputs of the kind that the model will be asked, "
        "one a line, tabs between the texts of one. int8 then rounds by the ranges "
        "that these have inside the model instead of those of each call, so that no "
        "answer moves with its neighbours.",
        None,
    )
    variables_dtype: str = option(
        "Type in which the file keeps the variables of a model that computes in "
        "float32.",
        "float32",
        ("float32", "float16", "bfloat16"),
    )
    format: str = option(
        "File format. saved_model: texts in, answers out, with TensorFlow alone; onnx, "
        "openvino, and tflite with int8 weights: token ids in, the tokenizer beside "
        "the file.",
        SAVED_MODEL,
        (SAVED_MODEL, *TOKEN_FORMATS),
    )
    input_names: str = option(
        "Inputs of an onnx file. official: input_ids, input_mask and segment_ids, in "
        "int32; huggingface: input_ids, attention_mask and token_type_ids, in int64, "
        "for clients of Hugging Face's exports.",
        "official",
        ("official", "huggingface"),
    )
    text_in: bool = option(
        "Put the tokenizer into an onnx file, which then takes strings; its runtime "
        "needs onnxruntime-extensions.",
        False,
    )
    eval_file: str | None = option(
        "Labelled .tsv, .csv or .jsonl table on which to compare the export with the "
        "original, where --compute_dtype or --format changes answers.",
        None,
    )


@obeys_reading_flags
def export(options):
    """Writes the next version of an export.

    Returns:
        The folder of the version, a `pathlib.Path`.

    Raises:
        UserError: `model_dir` lacks a model or tokenizer, the task or length does not
            fit the model, or options contradict each other.
    """
    # Imported here, so that --help does not wait for TensorFlow.
    from albert_tf.serving.writing import write_version

    return write_version(options)


def main(argv=None):
    """Runs the command line."""
    command_line.run(ExportOptions, export, argv=argv)
