"""Writes a version of a served model, and loads it to check it."""

import pathlib

import numpy as np
import tensorflow as tf
from absl import logging
from tensorflow.core.protobuf.fingerprint_pb2 import FingerprintDef

from albert_tf import bundle
from albert_tf.errors import UserError
from albert_tf.io.files import write_json
from albert_tf.io.folder_lock import folder_lock
from albert_tf.io.memory import release_memory
from albert_tf.io.storage import os_errors
from albert_tf.io.storage import require_disk
from albert_tf.io.whole_folder import ChecksummedFolder
from albert_tf.row_layout import FEATURES
from albert_tf.serving.calibration import calibration_rows
from albert_tf.serving.comparison import Comparison
from albert_tf.serving.comparison import check_comparable
from albert_tf.serving.description import describe_signatures
from albert_tf.serving.description import model_card
from albert_tf.serving.description import write_warmup_requests
from albert_tf.serving.loading import build_module
from albert_tf.serving.loading import build_module_of_file
from albert_tf.serving.padding import compiled_lengths
from albert_tf.serving.serving_module import PROMPT
from albert_tf.serving.serving_module import PROMPTED
from albert_tf.serving.versions import exporting_folder
from albert_tf.serving.versions import numbered_versions
from albert_tf.tasks.served_answers import EXIT_LAYER
from albert_tf.token_files import WRITERS
from albert_tf.token_files import TokenFile
from albert_tf.token_files import check_token_file
from albert_tf.token_files import round_on_rows
from albert_tf.token_files import round_onnx
from albert_tf.token_files.input_names import HUGGINGFACE
from albert_tf.token_files.input_names import check_features
from albert_tf.token_files.input_names import rename_inputs
from albert_tf.token_files.text_in import check_text_in
from albert_tf.token_files.text_in import put_text_in
from albert_tf.tokenization.for_tokenizers import write_whole_file

SAVED_MODEL = "saved_model"
_RENAMING_SECONDS = 60.0  # that an export waits for others to rename their folders
# The compute dtypes that each format supports.
_COMPUTE_DTYPES = {
    SAVED_MODEL: ("float32", "bfloat16"),
    "onnx": ("float32", "int8", "float16"),
    "openvino": ("float32", "int8"),
    "tflite": ("float32",),
}


def write_version(options):
    """Writes the next version; see `albert_tf.serving.export.export`."""
    is_saved_model = options.format == SAVED_MODEL
    _check(options)
    bundles = [bundle.open(path) for path in str(options.model_dir).split(",")]
    module, served, facts = build_module(
        bundles,
        options.task,
        options.max_seq_length,
        depth_loop=is_saved_model,
        compute_dtype=options.compute_dtype if is_saved_model else "float32",
        exit_rule=options.asked_rule,
        optimize_for=options.optimize_for,
        variables_dtype=options.variables_dtype,
    )
    for opened in bundles:
        opened.release()
    _check_exit(options, served.exit_rule)
    export_dir = pathlib.Path(options.export_dir)
    with exporting_folder(export_dir) as temporary:
        facts = {"name": export_dir.resolve().name, **facts}
        if is_saved_model:
            facts["compute_dtype"] = options.compute_dtype
            if options.eval_file is not None:
                facts |= _compared_with_float32(options, bundles, module, served, facts)
            _save(module, temporary)
            compiled = options.optimize_for == "latency"
            _describe(temporary, module, served, facts, compiled)
        else:
            _write_token_file(options, module, served, facts, temporary)
        _write_checksums(temporary)
        with folder_lock(export_dir, _RENAMING_SECONDS):
            number = max(numbered_versions(export_dir), default=0) + 1
            target = export_dir / str(number)
            temporary.rename(target)
    logging.info("Exported %s to %s", options.model_dir, target)
    return target


def _write_checksums(directory):
    with ChecksummedFolder(directory) as folder:
        for path in filter(pathlib.Path.is_file, directory.rglob("*")):
            folder.add(path.relative_to(directory).as_posix())


def _save(module, directory):
    """Saves the module without TensorFlow's warnings about names in the graph."""
    verbosity = logging.get_verbosity()
    logging.set_verbosity(logging.ERROR)
    try:
        with os_errors():
            tf.saved_model.save(module, str(directory), signatures=module.signatures())
    finally:
        logging.set_verbosity(verbosity)
    # The file also has a random number, which would make equal exports differ.
    path = directory / "fingerprint.pb"
    fingerprint = FingerprintDef.FromString(path.read_bytes())
    fingerprint.uuid = ""
    path.write_bytes(fingerprint.SerializeToString())


def _check(options):
    """Refuses options that contradict each other, and a bucket."""
    require_disk("export_dir", options.export_dir)
    options.check_columns_read(options.eval_file)
    dtype, form = options.compute_dtype, options.format
    if dtype not in _COMPUTE_DTYPES[form]:
        able = [name for name, dtypes in _COMPUTE_DTYPES.items() if dtype in dtypes]
        raise UserError(
            f"--compute_dtype={dtype} needs --format={' or '.join(able)}, not {form}."
        )
    if options.eval_file is not None and (form, dtype) == (SAVED_MODEL, "float32"):
        raise UserError(
            "--eval_file compares exports that change answers: add "
            "--compute_dtype=bfloat16, or --format=tflite or onnx, or leave "
            "--eval_file out."
        )
    if options.text_in and (form != "onnx" or options.input_names == HUGGINGFACE):
        raise UserError("--text_in is for --format=onnx, without --input_names.")
    if options.input_names == HUGGINGFACE and form != "onnx":
        raise UserError(
            f"--input_names={HUGGINGFACE} is for --format=onnx, not --format={form}."
        )
    for name, usual, alone in (
        ("optimize_for", (None, "throughput"), "compiles with XLA, which lacks these"),
        ("variables_dtype", ("float32",), "is decided by that"),
    ):
        value = getattr(options, name)
        if form != SAVED_MODEL and value not in (None, "float32"):
            raise UserError(
                f"--{name}={value} is for --format=saved_model, not --format={form}."
            )
        if dtype != "float32" and value not in usual:
            raise UserError(
                f"--{name}={value} does not go with --compute_dtype={dtype}: it "
                f"{alone}; leave it out."
            )

    is_static = options.calibration_file is not None
    if is_static and dtype != "int8":
        raise UserError(
            "--calibration_file measures ranges for --compute_dtype=int8; add that, or "
            "leave --calibration_file out."
        )
    if not is_static and (form, dtype) == ("openvino", "int8"):
        raise UserError(
            "--format=openvino has no int8 without --calibration_file; give it 100 to "
            "500 texts, or take --format=onnx."
        )


def _check_exit(options, exit_rule):
    """Refuses a model that leaves early where the format or its int8 has no loops."""
    if exit_rule is None:
        return
    if options.format in ("tflite", "openvino"):
        raise UserError(
            f"--format={options.format} has no rows that leave early; take "
            "--format=onnx, or answer at full depth with --exit_rule=none."
        )
    if options.calibration_file is not None:
        raise UserError(
            "Rows that leave early are computed in a loop, where nothing measures "
            "ranges; leave --calibration_file out, or answer at full depth with "
            "--exit_rule=none."
        )


def _describe(saved_model_dir, module, served, facts, compiled):
    """Runs the example requests on the saved model, and describes the results."""
    examples = _example_requests(module, served)
    loaded = tf.saved_model.load(str(saved_model_dir))
    _write_description(saved_model_dir, facts, loaded.signatures, examples, served)
    requests = list(examples.items())
    if compiled:  # one request per length, so that no user waits for the compiler
        longest = facts["max_seq_length"]
        lengths = compiled_lengths(served.longest)
        needed = sum(length < longest for length in lengths) + 1
        requests += [("tokens", _of_length(examples, n)) for n in lengths[:needed]]
    with os_errors():
        write_warmup_requests(saved_model_dir, facts["name"], requests)


def _of_length(examples, length):
    """Repeats the example of token ids up to a length."""
    return {
        name: np.resize(values, (*values.shape[:-1], length))
        if name in FEATURES
        else values
        for name, values in examples["tokens"].items()
    }


def _write_description(directory, facts, signatures, examples, served):
    """Writes `signature.json` and `model_card.md`, including the example answers."""
    meaning = {**served.task.meaning(), EXIT_LAYER: "how many layers the answer took"}
    described = describe_signatures(signatures, examples, meaning)
    write_json(directory / "signature.json", {**facts, "signatures": described})
    card = model_card(facts, described)
    (directory / "model_card.md").write_text(card, encoding="utf-8")


def _compared_with_float32(options, bundles, module, served, facts):
    """Measures the quality lost by the module's compute dtype."""
    comparison = _comparison(options, served, facts)
    original, _, _ = build_module(
        bundles,
        options.task,
        options.max_seq_length,
        exit_rule=options.asked_rule,
    )
    numbers = comparison.numbers(original.compute)
    return comparison(numbers, options.compute_dtype, module.compute)


def _write_token_file(options, module, served, facts, directory):
    """Writes the model and its tokenizer, and reports the loss by the conversion."""
    names = list(served.task.features)
    is_renamed = options.input_names == HUGGINGFACE
    if is_renamed:
        check_features(names)
    if options.text_in:
        check_text_in(served, module.text_features)
    if options.eval_file is not None:  # read early: the conversion takes longer
        comparison = _comparison(options, served, facts)
        original = comparison.numbers(module.compute)
    rows = None
    if options.calibration_file is not None:
        rows = calibration_rows(options.calibration_file, module, served.task)
        facts["calibration_rows"] = len(rows)
    examples = _example_requests(module, served)
    request = examples["tokens"], _answer(module.compute, examples["tokens"])
    if options.text_in:
        strings = _strings(module, examples["serving_default"])
    path = _write_network(options, module, served, directory, request, rows)
    if is_renamed:
        names = rename_inputs(path, served.config.type_vocab_size > 1)
    dtype = "int8" if options.format == "tflite" else options.compute_dtype
    file, opened = check_token_file(path, *request, dtype)
    facts |= {"file": path.name, "inputs": names, "compute_dtype": dtype, **opened}
    if options.eval_file is not None:
        converted = (file or TokenFile(path)).in_graph
        facts |= comparison(original, options.format, converted)
    if options.text_in:
        del file  # it is open
        file, told = _take_text(path, module, served, strings, dtype)
        facts |= told
    served.tokenizer.save(directory)
    with ChecksummedFolder(directory) as folder:
        write_whole_file(served.tokenizer, folder)
    signatures = {}
    if opened:
        answering = build_module_of_file(path, facts, file)
        signatures = {"serving_default": answering.text_signature()}
    examples = {name: examples[name] for name in signatures}
    _write_description(directory, facts, signatures, examples, served)


def _write_network(options, module, served, directory, request, rows):
    """Writes the file in its compute dtype, and returns its path."""
    path = WRITERS[options.format](module, served, directory)
    release_memory()
    if options.compute_dtype != "float32":
        # Detects a wrong graph before rounding can hide it.
        check_token_file(path, *request)
        release_memory()
        if rows is None:
            round_onnx(path, options.compute_dtype)
        else:
            round_on_rows(path, rows)
        release_memory()
    return path


def _answer(compute, features):
    """Returns the model's answer, before its file is written."""
    return compute({name: tf.constant(values) for name, values in features.items()})


def _strings(module, example):
    """Returns a usual text, none, and one that is too long, and the answer to them."""
    texts = {name: [own[0], b"", 99 * own[0]] for name, own in example.items()}

    def answer(strings):
        return module.compute(module.text_features(**strings))

    return texts, _answer(answer, texts)


def _take_text(path, module, served, strings, dtype):
    """Makes an ONNX file take strings, and compares it; returns facts of it."""
    unlike = put_text_in(path, served, module.text_features)
    file, opened = check_token_file(path, *strings, dtype)
    cases = "; ".join(unlike)
    logging.info("%s cuts texts like the tokenizer, but for %s", path.name, cases)
    inputs = list(served.task.text_inputs)
    return file, {**opened, "inputs": inputs, "cut_otherwise": cases}


def _comparison(options, served, facts):
    check_comparable(options.model_dir, served.task, options.columns)
    examples = served.task.read(options.eval_file, options.columns)
    return Comparison(examples, served, facts["max_seq_length"])


def _example_requests(module, served):
    """Makes one request with the same content for each signature."""
    example = served.task.example
    if isinstance(example, str):
        example = dict.fromkeys(served.task.text_inputs, example)
    texts = {name: [_encoded(example[name])] for name in served.task.text_inputs}
    features = module.text_features(
        **{name: tf.constant(values) for name, values in texts.items()}
    )
    tokens = {name: values.numpy() for name, values in features.items()}
    requests = {"serving_default": texts, "tokens": tokens}
    if served.task.prompts:
        prompt = next(iter(served.task.prompts.values())).encode()
        requests[PROMPTED] = {**texts, PROMPT: [prompt]}
    if served.task.feature_axes == 2:
        requests["examples"] = {"examples": [_serialized(tokens)]}
    return requests


def _encoded(text):
    return list(map(_encoded, text)) if isinstance(text, list) else text.encode()


def _serialized(tokens):
    """Serializes features of one row as a `tf.Example`."""
    example = tf.train.Example()
    for name, values in tokens.items():
        example.features.feature[name].int64_list.value.extend(values.ravel().tolist())
    return example.SerializeToString(deterministic=True)
