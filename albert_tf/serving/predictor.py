"""An in-process client for an exported model."""

import pathlib

import numpy as np
import tensorflow as tf

from albert_tf import checksums
from albert_tf.errors import UserError
from albert_tf.serving.versions import numbered_versions
from albert_tf.tasks.prediction import joined

_TEXT, _QUESTION = ("text", "text_pair"), ("question", "context")


class Predictor:
    """Answers for raw texts, batched by length.

    Args:
        export_dir: what `albert_tf.serving.export` wrote: the directory of versions
            (the highest one is taken) or one version.

    Raises:
        UserError: there is no SavedModel, or it is damaged.

    Example:
        predictor = Predictor("/models/sst-2")
        predictor(["a fine film"])["label"]
    """

    def __init__(self, export_dir):
        # Registers the tokenizer's operations, without which loading fails.
        import tensorflow_text  # noqa: F401

        path = _version(export_dir)
        checksums.check_folder(path)
        try:
            self._loaded = tf.saved_model.load(str(path))
            self._answer = self._loaded.signatures["serving_default"]
        # There are many: of the protocol buffer, of the variables, of the assets.
        except Exception as error:
            raise UserError(
                f"{path} holds no SavedModel that can be loaded; export the model "
                "again."
            ) from error

    @classmethod
    def from_module(cls, module):
        """A predictor on a `ServingModule` in memory, nothing exported."""
        predictor = cls.__new__(cls)
        predictor._loaded = module
        predictor._answer = module.text_signature()
        return predictor

    def __call__(self, texts, text_pairs=None, batch_size=32):
        """Answers for any number of texts.

        Args:
            texts: list of str or bytes; of question answering, the questions.
            text_pairs: the second texts of a pair task, or the contexts of questions.
            batch_size: texts answered at a time; those of similar length meet.

        Returns:
            Dict of arrays `[len(texts), …]` in the order of `texts`. Where an output
            is as long as the text, shorter ones are padded with zeros.

        Raises:
            UserError: no texts, one text instead of a list, pairs where the model takes
                none (or the reverse), or a batch size below 1.
        """
        if batch_size < 1:
            raise UserError(f"batch_size={batch_size}: expected at least 1.")
        if isinstance(texts, (str, bytes)) or isinstance(text_pairs, (str, bytes)):
            raise UserError("Expected a list of texts, not one text; put it in a list.")
        names = _QUESTION if "question" in self._expected() else _TEXT
        columns = dict(zip(names, (texts, text_pairs), strict=True))
        columns = {k: _to_bytes(v) for k, v in columns.items() if v is not None}
        self._check(columns)
        lengths = np.sum([[len(text) for text in c] for c in columns.values()], axis=0)
        order = np.argsort(lengths, kind="stable")
        answers = []
        for begin in range(0, len(order), batch_size):
            rows = order[begin : begin + batch_size]
            batch = {k: tf.constant([c[i] for i in rows]) for k, c in columns.items()}
            answers.append({k: v.numpy() for k, v in self._answer(**batch).items()})
        back = np.argsort(order)
        return {
            name: joined([answer[name] for answer in answers])[back]
            for name in answers[0]
        }

    def _expected(self):
        signature = tf.nest.flatten(self._answer.structured_input_signature)
        return {spec.name for spec in signature}

    def _check(self, columns):
        expected = self._expected()
        if set(columns) != expected:
            raise UserError(
                f"The model takes {' and '.join(sorted(expected))}, but "
                f"{' and '.join(sorted(columns))} was given."
            )
        sizes = {len(column) for column in columns.values()}
        if len(sizes) > 1 or sizes == {0}:
            raise UserError(f"Expected as many texts as pairs, not none; got {sizes}.")


def _version(export_dir):
    path = pathlib.Path(export_dir)
    if (path / "saved_model.pb").exists():
        return path
    found = numbered_versions(path)
    if not found:
        raise UserError(
            f"{export_dir} holds no exported model; make one with "
            "python -m albert_tf.serving.export."
        )
    return found[max(found)]


def _to_bytes(texts):
    return [t.encode("utf-8", "replace") if isinstance(t, str) else t for t in texts]
