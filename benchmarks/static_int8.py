"""Accuracy and speed of a model's files in int8, by ranges of calls and of texts.

  python -m benchmarks.static_int8 --model_dir=out/model --eval_file=SST-2/dev.tsv \\
      --calibration_file=texts.txt

exports the model as ONNX and for OpenVINO, in float32 and int8, and scores each file on
the labelled file: a table, CoNLL, SQuAD's layout, or, with --task=embedding, pairs with
a score. Without --eval_file it measures CPU milliseconds of one thread, sides in turns.
"""

import dataclasses
import pathlib
import statistics
import tempfile
import time

import numpy as np

from albert_tf.cli import command_line
from albert_tf.cli.command_line import option
from albert_tf.serving.export import ExportOptions
from albert_tf.serving.export import export
from albert_tf.tasks.tables import ColumnFlags
from benchmarks.measuring import figures

_SIZES = ((1, 12), (1, 32), (8, 32), (1, 128))  # rows and tokens
_TOKENS = 600  # of a turn of a side, at least


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options(ColumnFlags):
    model_dir: str = option("Model directory, or a Hugging Face one.")
    calibration_file: str = option("Texts for --calibration_file of the export.")
    eval_file: str | None = option(
        "Labelled file to score on; without it, speed is measured.", None
    )
    task: str = option("As for the export.", "auto")
    rounds: int = option("Number of turns of each side.", 9)
    figures_file: str | None = figures.file_option()


def benchmark(options):
    """Writes the files, and prints what they score or how fast they are."""
    with tempfile.TemporaryDirectory() as name:
        versions = {
            side: export(
                ExportOptions(
                    model_dir=options.model_dir,
                    export_dir=f"{name}/{side}",
                    task=options.task,
                    **flags,
                )
            )
            for side, flags in _sides(options).items()
        }
        if options.eval_file is None:
            columns = ["CPU ms", *(f"{rows} × {tokens}" for rows, tokens in _SIZES)]
            rows = _speeds(versions, options.rounds)
        else:
            columns, rows = _scores(options, versions)
    conditions = [f"medians of {options.rounds} turns"] if not options.eval_file else []
    figures.report(options.figures_file, columns, rows, conditions)


def _sides(options):
    """Returns the flags of each export by its name."""
    static = {"compute_dtype": "int8", "calibration_file": options.calibration_file}
    return {
        "onnx float32": {"format": "onnx"},
        "onnx int8": {"format": "onnx", "compute_dtype": "int8"},
        "onnx static int8": {"format": "onnx", **static},
        "openvino float32": {"format": "openvino"},
        "openvino static int8": {"format": "openvino", **static},
    }


def _scores(options, versions):
    """Scores each file: the names of the metrics, and a row for each side."""
    from albert_tf import bundle  # and TensorFlow
    from albert_tf.serving.comparison import Comparison
    from albert_tf.serving.loading import build_module
    from albert_tf.tasks.similarity.task import Similarity
    from albert_tf.token_files import TokenFile
    from albert_tf.token_files import token_file_in

    _, served, facts = build_module([bundle.open(options.model_dir)], options.task)
    examples = _examples(served.task, options)
    comparison = Comparison(examples, served, facts["max_seq_length"])
    rows = []
    for side, version in versions.items():
        compute = TokenFile(token_file_in(version)).in_graph
        if isinstance(served.task, Similarity):
            compute = _of_texts(compute)
        scores = comparison.score(comparison.numbers(compute))
        rows.append([side, *(f"{scores[name]:.4f}" for name in served.task.metrics)])
    return ["", *served.task.metrics], rows


def _of_texts(compute):
    """Returns `compute` for features of pairs, `[rows, texts, tokens]`.

    A file computes one vector for each text, from `[texts, tokens]`.
    """
    import tensorflow as tf

    def computed(features):
        rows = tf.shape(features["input_ids"])[0]
        texts = {k: tf.reshape(v, [-1, tf.shape(v)[-1]]) for k, v in features.items()}
        vectors = compute(texts)["embedding"]
        pairs = tf.reshape(vectors, [rows, -1, tf.shape(vectors)[-1]])
        return {"embedding": pairs}

    return computed


def _examples(task, options):
    from albert_tf.tasks.question_answering.questions import question_file
    from albert_tf.tasks.question_answering.questions import read_question_file
    from albert_tf.tasks.question_answering.task import SquadTask
    from albert_tf.tasks.similarity.task import Similarity
    from albert_tf.tasks.tables import Columns
    from albert_tf.tasks.tables import number_of
    from albert_tf.tasks.tables import read_table
    from albert_tf.tasks.tagging.schemes import PLAIN
    from albert_tf.tasks.tagging.sentences import TagFileFlags
    from albert_tf.tasks.tagging.sentences import read_tag_file
    from albert_tf.tasks.tagging.task import Tagging

    path = options.eval_file
    if isinstance(task, Tagging):
        scheme = PLAIN if task.scheme == PLAIN else None
        return read_tag_file(path, TagFileFlags(scheme=scheme))
    if isinstance(task, SquadTask):
        return question_file(read_question_file(path), task.version, "dev", False)
    if isinstance(task, Similarity):
        return read_table(path, Columns("sentence1", "sentence2", "score"), number_of)
    return task.read(path, options.columns)


def _speeds(versions, rounds):
    """Measures each file on rows of random ids: a row of cells for each side."""
    from albert_tf.token_files import token_file_in

    runs = {side: _one_thread(token_file_in(v)) for side, v in versions.items()}
    rows = {side: [side] for side in runs}
    random = np.random.default_rng(0)
    for shape in _SIZES:
        features = {"input_ids": random.integers(5, 1000, shape, "int32")}
        features["input_mask"] = np.ones(shape, "int32")
        features["segment_ids"] = np.zeros(shape, "int32")
        repeats = -(-_TOKENS // np.prod(shape))
        seconds = {side: [] for side in runs}
        for _ in range(rounds):
            for side, run in runs.items():
                run(features)
                start = time.process_time()
                for _ in range(repeats):
                    run(features)
                seconds[side].append((time.process_time() - start) / repeats)
        base = seconds["onnx int8"]
        for side, own in seconds.items():
            cell = {"value": 1000 * statistics.median(own)}
            rows[side].append(cell | figures.ratios(base, own))
    return list(rows.values())


def _one_thread(path):
    """Opens a file so that it computes in the thread that calls it."""
    path = pathlib.Path(path)
    if path.suffix == ".xml":
        import openvino

        settings = {
            "INFERENCE_NUM_THREADS": 1,
            "NUM_STREAMS": 1,
            "INFERENCE_PRECISION_HINT": "f32",  # as Predictor opens it
        }
        opened = openvino.Core().compile_model(path, "CPU", settings)
        return opened.create_infer_request().infer
    import onnxruntime

    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, settings)
    return lambda features: session.run(None, features)


if __name__ == "__main__":
    command_line.run(Options, benchmark)
