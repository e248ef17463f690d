"""Common parts of the comparisons with recordings in folders.

The layout of features follows the official code. A set of questions NAME has

    NAME_dev.json, NAME_train.json   the questions, with all or with one answer
    features_NAME.npz, .json         the windows, and how they were made
    answers_NAME_as_vN               scores of these windows, and their answers
"""

import io
import os
import pathlib
import types
import typing
import zipfile

import numpy as np
import tensorflow as tf

from albert_tf import bundle
from albert_tf.bundle import build_model
from albert_tf.checkpoints.huggingface import CONFIG_FILE
from albert_tf.checkpoints.huggingface import is_huggingface_directory
from albert_tf.errors import UserError
from albert_tf.families.readable import family_that_writes
from albert_tf.io.files import read_file
from albert_tf.io.files import read_json_object
from albert_tf.tasks.question_answering.questions import read_paragraphs
from albert_tf.tasks.question_answering.windows import Windows
from albert_tf.tasks.question_answering.windows import WindowSizes
from albert_tf.tokenization.loading import is_tokenizer
from albert_tf.tokenization.loading import load_tokenizer

_VOCABULARY = "data/vocab/albert_en_30k"
_NEEDED = (
    "example_index",
    "doc_span_index",
    "input_ids",
    "paragraph_len",
    "paragraph_start",
    "paragraph_tokens",
    "tok_start_to_orig_index",
    "tok_end_to_orig_index",
    "token_is_max_context",
)
_MASKED = -1e29
_SIZES = ("max_seq_length", "doc_stride", "max_query_length")


def read_arrays(path):
    """Reads the arrays of an npz file: a dict by name."""
    data = io.BytesIO(read_file(path))
    try:
        with np.lib.npyio.NpzFile(data) as file:
            return dict(file)
    except (ValueError, zipfile.BadZipFile) as error:
        raise UserError(f"{path} is not an npz file: {error}.") from error


class Compared(typing.NamedTuple):
    """Found and expected arrays."""

    prefix: str  # of the names, ending in "/"; "" for the folder itself
    found: dict  # arrays by name
    expected: dict  # arrays by name
    notes: dict = types.MappingProxyType({})  # remarks by name
    weights_limit: float = 1e-6  # how far weights may be off after training


def huggingface_entries(directory):
    """Returns the entries of a Hugging Face directory's config; {} of other folders."""
    if not is_huggingface_directory(directory):
        return {}
    return read_json_object(os.path.join(directory, CONFIG_FILE))


def read_recording(directory, *needed):
    """Reads `inputs.npz`, which must have the needed arrays, and `expected.npz`."""
    files = (os.path.join(directory, name) for name in ("inputs.npz", "expected.npz"))
    inputs, expected = map(read_arrays, files)
    require_inputs(directory, inputs, *needed)
    return inputs, expected


def require_inputs(directory, inputs, *needed):
    """Refuses a recording without the inputs; a tuple means one of its names."""
    for names in needed:
        names = (names,) if isinstance(names, str) else names
        if not any(name in inputs for name in names):
            raise UserError(f"{directory}/inputs.npz lacks {' or '.join(names)}.")


def require_names(path, entries, names):
    """Refuses the contents of a file, a dict, if a name is missing."""
    for name in names:
        if name not in entries:
            raise UserError(f"{path} lacks {name!r}.")


def holds_any(names, prefix):
    """Returns whether a name begins with a prefix."""
    return any(name.startswith(prefix) for name in names)


def prefixed(prefix, values):
    """Adds a prefix to the names of a dict."""
    return {prefix + name: value for name, value in values.items()}


def names_in(folder):
    """Lists NAME of each features_NAME.npz in a folder, sorted."""
    paths = pathlib.Path(folder).glob("features_*.npz")
    return sorted(path.stem.removeprefix("features_") for path in paths)


def tokenizer_of(directory, vocabulary, do_lower_case):
    """Loads the tokenizer with which recorded features were made.

    Args:
        directory: where they lie.
        vocabulary: the tokenizer's file or folder, or None: the one beside the
            features, or `data/vocab/albert_en_30k` in one of the folders above.
        do_lower_case: whether letters are lowered.

    Raises:
        UserError: there is none.
    """
    if vocabulary is not None:
        return load_tokenizer(vocabulary, do_lower_case)
    if any(map(is_tokenizer, os.listdir(directory))):
        return load_tokenizer(directory, do_lower_case)
    for above in pathlib.Path(os.path.abspath(directory)).parents:
        if (above / _VOCABULARY).is_dir():
            return load_tokenizer(above / _VOCABULARY, do_lower_case)
    raise UserError(
        f"{directory} has no vocabulary beside its features; name it with "
        "--spm_model_file."
    )


class RecordedWindows:
    """The windows of one set of questions.

    Args:
        folder: where they lie.
        name: of the set.

    Attributes:
        arrays: a dict by name, `[W]` or `[W, tokens]`.
        question_ids: list of str; `example_index` counts in it.
        dropped: ids of questions that have no window.
        sizes: the `WindowSizes`.
        do_lower_case: of the tokenizer.

    Raises:
        UserError: a file is missing, or lacks an entry.
    """

    def __init__(self, folder, name):
        self._folder, self._name = os.fspath(folder), name
        path = os.path.join(folder, f"features_{name}")
        facts = read_json_object(f"{path}.json")
        self.arrays = read_arrays(f"{path}.npz")
        needed = (*_SIZES, "qids", "dropped", "do_lower_case")
        require_names(f"{path}.json", facts, needed)
        require_names(f"{path}.npz", self.arrays, _NEEDED)
        self.question_ids, self.dropped = facts["qids"], facts["dropped"]
        self.sizes = WindowSizes(**{key: facts[key] for key in _SIZES})
        self.do_lower_case = facts["do_lower_case"]

    def path(self, part):
        """Returns the path of the questions: `part` is "dev" or "train"."""
        return os.path.join(self._folder, f"{self._name}_{part}.json")

    def window_keys(self):
        """Names each window: (question id, number of the window)."""
        arrays = self.arrays
        pairs = zip(arrays["example_index"], arrays["doc_span_index"], strict=True)
        return [(self.question_ids[question], int(index)) for question, index in pairs]

    def windows(self):
        """Returns the windows as `Windows`, with the recorded spans of characters."""
        arrays = self.arrays
        count, width = arrays["input_ids"].shape  # [W, T]
        questions, contexts = [], []
        for paragraph in read_paragraphs(self.path("dev")):
            questions.extend(paragraph.questions)
            contexts.extend([paragraph.context] * len(paragraph.questions))
        if [question.id for question in questions] != self.question_ids:
            raise UserError(
                f"{self.path('dev')} has other questions than features_{self._name}"
                ".json."
            )
        spans = np.zeros((count, width, 2), np.int32)
        for row in range(count):
            tokens = arrays["paragraph_tokens"][row]
            begin = arrays["paragraph_start"][row]
            here = spans[row, begin : begin + tokens]
            here[:, 0] = arrays["tok_start_to_orig_index"][row, :tokens]
            here[:, 1] = arrays["tok_end_to_orig_index"][row, :tokens] + 1
        return Windows(
            questions=questions,
            contexts=contexts,
            ids=arrays["input_ids"].reshape(-1),
            spans=spans.reshape(-1, 2),
            is_max_context=(arrays["token_is_max_context"] == 1).reshape(-1),
            starts=np.arange(count) * width,
            lengths=arrays["paragraph_len"],
            first_lengths=arrays["paragraph_start"],
            question_index=arrays["example_index"],
            window_index=arrays["doc_span_index"],
            answers=np.zeros((0, 3), np.int32),
        )


def model_with_head(checkpoint, model_class, arguments):
    """Loads the model of a `Checkpoint`, or its directory, with the head of a class.

    Raises:
        UserError: there is no checkpoint, or it has no such head.
    """
    checkpoint = bundle.open(checkpoint)
    model = build_model(model_class, checkpoint, (), arguments)
    missing = set(model.load_report.new) & set(model.head_variables())
    if missing:
        raise UserError(
            f"{checkpoint.path} has no head to compare: its checkpoint lacks "
            f"{sorted(missing)[0]}."
        )
    return model


def loss_and_gradients(model, objective, batch):
    """Computes the loss without dropout, `loss`, and its `grad/<official name>`."""
    with tf.GradientTape() as tape:
        losses, _ = objective(model, batch, training=False, dropout_seed=None)
        weights = objective.denominators(batch)
        loss = sum(losses[term] / weights[term] for term in losses)
    return {"loss": loss, **prefixed("grad/", gradients_of(tape, loss, model))}


def gradients_of(tape, loss, model):
    """Returns gradients by official name, dense; 0 where the loss reads no variable."""
    variables = model.trainable_variables
    values = [variable.value for variable in variables]
    zero = tf.UnconnectedGradients.ZERO
    found = tape.gradient(loss, values, unconnected_gradients=zero)
    names = model.official_names()
    return {
        names[variable.path]: tf.convert_to_tensor(gradient)
        for variable, gradient in zip(variables, found, strict=True)
    }


def in_huggingface(model, gradients):
    """Converts gradients to Hugging Face's names and shapes, like variables."""
    arrays = {name: np.array(value) for name, value in gradients.items()}
    return family_that_writes(model).to_huggingface(
        model.config, arrays, model.head_names(), model.huggingface_architecture()
    )[1]


def stacked_states(encoded):
    """Stacks embeddings and the output of each layer: `[layers + 1, …]`."""
    return tf.stack([encoded["embedding_output"], *encoded["hidden_states"]])


def without_masked(found, expected):
    """Replaces by 0 the value of masked tokens that both arrays hold.

    Relative to -1e30, any other deviation would vanish.
    """
    masked = (np.array(found) < _MASKED) & (expected < _MASKED)
    return np.where(masked, 0, found), np.where(masked, 0, expected)
