"""`Predictor`: strings in, answers out, for a model of any format."""

import os
import pathlib
from typing import Any
from typing import overload

import tensorflow as tf

from albert_tf import bundle
from albert_tf.answers import Answer
from albert_tf.checkpoints.tf1 import find_tf1_prefix
from albert_tf.checkpoints.tf1 import read_tf1_config
from albert_tf.errors import UserError
from albert_tf.hub.names import local_directory
from albert_tf.io import checksums
from albert_tf.io.files import read_json_object
from albert_tf.io.processes import check_process
from albert_tf.io.storage import is_remote
from albert_tf.models.base import PretrainedModel
from albert_tf.prompts import chosen_prompt
from albert_tf.serving.inputs import Inputs
from albert_tf.serving.inputs import outputs_of
from albert_tf.serving.loading import build_module
from albert_tf.serving.loading import build_module_of
from albert_tf.serving.loading import build_module_of_file
from albert_tf.serving.loading import task_served
from albert_tf.serving.serving_module import PROMPT
from albert_tf.serving.serving_module import PROMPTED
from albert_tf.serving.versions import numbered_versions
from albert_tf.token_files import TOKEN_FILES
from albert_tf.token_files import token_file_in
from albert_tf.tokenization.in_graph.texts import tensorflow_text
from albert_tf.tokenization.normalization import repaired

_SAVED_MODEL, _DESCRIPTION = "saved_model.pb", "signature.json"
_OPTIONAL = "optional_inputs"


class Predictor:
    """Predicts on strings with a model of any format.

    Args:
        model: a model directory or the name of a model to download, as
            `from_pretrained` takes them; or an export of `albert_tf.serving.export`, in
            any format: one version, or the directory of versions, of which the highest
            is used; or a model in memory, which always predicts with its current
            weights.
        tokenizer: the tokenizer of a model in memory or of a directory without one.
        task: the kind of answer, such as "encoder", "embedding" or "masked_lm"; "auto"
            is the task that the model was made for, or "encoder" if there is none.
        revision: branch, tag or commit of an "hf://" model.
        exit_rule: when a model fine-tuned with `--early_exit` answers before the last
            layer: `{"name": "patience", "threshold": 4}`, or "none" for full depth; by
            default the rule saved with the model.

    A `Predictor` can be pickled and copied. A model in memory is copied with it; a
    folder or name is opened again when unpickled, and refused if its files differ.

    Attributes:
        inputs: names of the strings of one input, in positional order: `text`; `text`
            and `text_pair`; `question` and `context`; or `question`, `context` and
            `options`.

    Raises:
        UserError: there is no model, it is damaged, it does not fit the task or the
            tokenizer, or the meaning of its outputs is unknown.

    Example:
        predictor = Predictor("fine_tuned")
        predictor("a fine film")["label"]
        [answer["label"] for answer in predictor(["a fine film", "a bore"])]
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any = None,
        task: str = "auto",
        revision: str | None = None,
        exit_rule: Any = None,
    ) -> None:
        check_process()
        self._directory = self._files = None
        if isinstance(model, str | os.PathLike):
            path = local_directory(model, revision)
            version = exported_version(pathlib.Path(path))  # for copies, too
            self._directory = os.path.abspath(version or path)
            listed = checksums.read(self._directory)
            self._files = listed or checksums.stamps(self._directory)
            opened = _open(path, version, tokenizer, task, exit_rule)
            checksums.check_unchanged(self._directory, listed)
            model = model if is_remote(model) else self._directory
        else:
            opened = _take(model, tokenizer, task, exit_rule)
        self._served, self._count, facts = opened
        signature = self._served()
        self._inputs = _inputs(signature, facts)
        names = frozenset(spec.name for spec in _specs(signature))
        self._signatures = {names: signature}
        self._task = task_served(facts)
        self._arguments = model, tokenizer, task, revision, exit_rule

    def __reduce__(self):
        if self._files is None:
            return type(self), self._arguments
        files = checksums.of_folder(self._directory)
        if self._files not in (files, checksums.stamps(self._directory)):
            raise UserError(
                f"{self._directory} has changed since the Predictor opened it, so that "
                "a copy would answer otherwise; open it again and pickle or copy that."
            )
        return _opened_again, (type(self), self._arguments, files)

    @property
    def inputs(self) -> tuple[str, ...]:
        return tuple(self._inputs.order or sorted(self._inputs.ranks))

    @overload
    def __call__(self, *texts: str, batch_size: int = ...) -> Answer: ...

    @overload
    def __call__(self, *texts: list[str], batch_size: int = ...) -> list[Answer]: ...

    @overload
    def __call__(
        self, *texts: Any, batch_size: int = ..., **named_texts: Any
    ) -> Any: ...

    def __call__(
        self, *texts: Any, batch_size: int = 32, **named_texts: Any
    ) -> Answer | list[Answer]:
        """Predicts for one input or many.

        Args:
            *texts: for each of `inputs`, in order, a str, or a list, array, column or
                iterator of str; `options` is a list of str for one input, and a list of
                lists for many. Line ends count as white space.
            batch_size: inputs per batch; a batch contains inputs of similar length. The
                answers of an int8 export depend slightly on the rest of the batch.
            **named_texts: the same by name, such as `question` and `context`; and for
                models of vectors `prompt_name` or `prompt`, see `TextEmbedder.encode`.

        Returns:
            A dict for one input, a list of dicts for a list, with Python values, and
            NumPy arrays for vectors:
                with an exit rule also `exit_layer`: the number of layers used
                single_label: `label`, and `probabilities` by label
                multi_label: the `labels` that apply, and `probabilities` by label
                regression: `score`
                question_answering: `answer`, "" for none; `answers`, the best ones,
                    each with `answer`, `score`, and `start` and `end` in characters of
                    the context; `no_answer_score`
                multiple_choice: `choice`, the index of the best option, and
                    `probabilities`, padded to the longest list of options
                tagging: `entities`, each with `entity` (the span of text), `label`,
                    `score`, and `start` and `end` in characters
                masked_lm: `masks`, for each [MASK] a list of the best tokens, each with
                    `token`, `token_id` and `probability`
                embedding: `embedding` `[hidden]`, of length 1
                encoder: `pooled_output` `[hidden]`, `sequence_output`
                    `[tokens, hidden]` and `input_ids` `[tokens]`

        Raises:
            UserError: texts are not str or do not match the model's inputs, a question
                has no options, or the batch size is below 1.
        """
        columns, is_one = self.columns(*texts, **named_texts)
        outputs = self.outputs(columns, batch_size)
        rows = zip(*outputs.values(), strict=True)
        answers = [
            self._task.answer(dict(zip(outputs, map(_plain, row), strict=True)))
            for row in rows
        ]
        return answers[0] if is_one else answers

    def arrays(
        self, *texts: Any, batch_size: int = 32, **named_texts: Any
    ) -> dict[str, Any]:
        """Returns the raw outputs of the served model for many inputs.

        Takes the arguments of a call and returns a dict of arrays `[inputs, …]`, with
        strings as str; outputs as long as the text are padded with 0 or "". An export's
        `model_card.md` describes each output.
        """
        columns, _ = self.columns(*texts, **named_texts)
        return self.outputs(columns, batch_size)

    def columns(
        self, /, *texts: Any, **named_texts: Any
    ) -> tuple[dict[str, Any], bool]:
        """Validates the arguments of a call.

        Returns:
            Lists of bytes (or of lists of bytes) by input name, and a bool: whether the
            call has a single input.
        """
        given = (named_texts.pop(name, None) for name in ("prompt_name", PROMPT))
        prompt = self._prompt(*given)
        columns, is_one = self._inputs.columns(texts, named_texts)
        if prompt is not None:
            rows = len(next(iter(columns.values())))
            columns[PROMPT] = [repaired(prompt).encode()] * rows
        return columns, is_one

    def _prompt(self, prompt_name, prompt):
        """Returns the prompt that a call chooses; None if it chooses none."""
        if prompt_name is None and prompt is None:
            return None
        if self._task.prompts is None:
            raise UserError("Only models of vectors take a prompt; leave it out.")
        return chosen_prompt(self._task, prompt_name, prompt)

    def outputs(self, columns: dict[str, Any], batch_size: int = 32) -> dict[str, Any]:
        """Returns the outputs of `arrays` for the result of `columns`."""
        check_process()
        return outputs_of(self._signature(columns), columns, batch_size)

    def count_tokens(self, columns: dict[str, Any]) -> int:
        """Counts the tokens that the model reads of the result of `columns`.

        Returns 0 for a SavedModel, which does not say.
        """
        return 0 if self._count is None else int(self._count(columns))

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the model's labels; () if it has none."""
        return tuple(getattr(self._task, "labels", ()))

    @property
    def normalizes(self) -> bool:
        """True if vectors have length 1."""
        return getattr(self._task, "normalize", True)

    @property
    def signature(self) -> Any:
        """The concrete function that takes strings."""
        return next(iter(self._signatures.values()))

    def _signature(self, columns):
        """Returns the signature that takes these columns."""
        names = frozenset(columns)
        if names not in self._signatures:
            prompted = (PROMPT,) if PROMPT in names else ()
            self._signatures[names] = self._served((*self.inputs, *prompted))
        return self._signatures[names]


def _opened_again(predictor_class, arguments, files):
    """Reopens the source of a pickled `Predictor` if its files are unchanged."""
    model, _, _, revision, _ = arguments
    if checksums.of_folder(local_directory(model, revision)) != files:
        raise UserError(
            f"{model} has other files here than where the Predictor was pickled; copy "
            "the folder, or pickle Predictor(model, tokenizer), which holds the model."
        )
    return predictor_class(*arguments)


def _open(path, version, tokenizer, task, exit_rule):
    """Opens a version of an export, or a model directory.

    Returns:
        A function that maps names of strings, or nothing, to the signature that takes
        them; one that counts the tokens of strings, None if none does; and a dict of
        metadata, as in `signature.json`.
    """
    if version is not None:
        if tokenizer is not None or task != "auto" or exit_rule is not None:
            raise UserError(
                f"{path} is an exported model, which brings its own task, tokenizer "
                "and exit rule; leave them out, or name the model directory."
            )
        return _exported(version)
    if not os.path.isdir(path):
        raise UserError(
            f"There is no directory {path}; name an exported model, a model "
            "directory, or a model to download, such as hf://owner/name."
        )
    module, served, facts = build_module(
        [bundle.open(path)], task, tokenizer=tokenizer, exit_rule=exit_rule
    )
    return _of_module(module, served, facts)


def _of_module(module, served, facts):
    facts = {**facts, _OPTIONAL: served.task.optional_inputs}
    return module.text_signature, module.count_tokens, facts


def _exported(version):
    tensorflow_text()  # Loading needs its operations.
    checksums.require_all(version)
    description, path = version / _DESCRIPTION, token_file_in(version)
    if path is not None:
        facts = read_json_object(description)
        module = build_module_of_file(path, facts)
        return module.text_signature, module.count_tokens, facts
    facts = read_json_object(description) if description.exists() else {}
    checksums.check_folder(version)
    try:
        loaded = tf.saved_model.load(str(version))
        signature = loaded.signatures.get("serving_default")
    # Each part raises its own error: the protocol buffer, the variables, the assets.
    except Exception as error:
        raise UserError(
            f"{version} holds no SavedModel that can be loaded; export the model again."
        ) from error
    specs = [] if signature is None else _specs(signature)
    if not specs or any(spec.dtype != tf.string for spec in specs):
        raise UserError(
            f"{version} takes no strings; export the model directory with "
            "albert-tf export."
        )

    def signature_for(names=()):
        # Keeps the variables of `loaded` alive, too.
        if PROMPT not in names:
            return loaded.signatures["serving_default"]
        if PROMPTED not in loaded.signatures:
            raise UserError(
                f"{version} was exported of a model without prompts; put the prompt "
                "before your texts, or give the model prompts and export it again."
            )
        return loaded.signatures[PROMPTED]

    return signature_for, None, facts


def _take(model, tokenizer, task, exit_rule):
    """Opens a model in memory; returns what `_open` does."""
    if not isinstance(model, PretrainedModel):
        raise UserError(
            f"Expected a directory, a name or a model of albert_tf, not a "
            f"{type(model).__name__}."
        )
    if tokenizer is None:
        raise UserError(
            "A model in memory needs its tokenizer: Predictor(model, tokenizer)."
        )
    module, served, facts = build_module_of(model, tokenizer, task, exit_rule)
    return _of_module(module, served, facts)


def exported_version(path):
    """Finds the version of an export: the path, its folder, or its highest version.

    Returns:
        A `pathlib.Path`; None if the path is no export.
    """
    if path.name in TOKEN_FILES and path.is_file():
        path = path.parent
    if token_file_in(path):
        return path
    if (path / _SAVED_MODEL).exists():
        prefix = find_tf1_prefix(str(path))  # TF-Hub modules have this file, too
        is_module = prefix and read_tf1_config(prefix)[0]
        return None if is_module else path
    versions = numbered_versions(path).items()
    found = {
        number: version
        for number, version in versions
        if (version / _SAVED_MODEL).exists() or token_file_in(version)
    }
    return found[max(found)] if found else None


def _specs(signature):
    return tf.nest.flatten(signature.structured_input_signature)


def _inputs(signature, facts):
    ranks = {spec.name: spec.shape.rank for spec in _specs(signature)}
    order = facts.get("text_inputs", [*ranks] if len(ranks) == 1 else None)
    optional = tuple(facts.get(_OPTIONAL, ()))
    if optional:
        ranks, order = {**ranks, **dict.fromkeys(optional, 1)}, [*order, *optional]
    return Inputs(ranks, None if order is None else tuple(order), optional)


def _plain(value):
    """Converts an output to a Python value, unless it is an array of numbers."""
    if isinstance(value, str):
        return value
    return value.tolist() if value.dtype == object or value.ndim == 0 else value
