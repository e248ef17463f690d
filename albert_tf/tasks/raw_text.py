"""Predictions on raw text, without any table."""

import pathlib

from albert_tf.files import write_atomically
from albert_tf.serving.building import build_module
from albert_tf.serving.predictor import Predictor
from albert_tf.tasks.classification.setup import fine_tuned
from albert_tf.tasks.raw_input import read_raw_texts
from albert_tf.tasks.text_task import LABEL_SEPARATOR


def predict_raw_text(options, raw_texts=None):
    """Prints a line for each text: prediction, probability (if any), the text.

    The same lines go to `predictions.tsv` in the output directory. The answers are
    those that an exported model would give.

    Args:
        options: the `ClassifierOptions`.
        raw_texts: what `read_raw_texts` gave, if it was called already: a pipe can
            be read only once.

    Raises:
        UserError: no fine-tuned model, or texts that do not fit its task.
    """
    directory, task, _ = fine_tuned(options)
    texts, pairs = raw_texts or read_raw_texts(options, task)
    module, _, _ = build_module(directory)
    answers = Predictor.from_module(module)(texts, pairs, options.predict_batch_size)
    lines = []
    for i, text in enumerate(texts):
        columns = [*_answer(answers, i), text, *([pairs[i]] if pairs else [])]
        lines.append("\t".join(columns))
    print("\n".join(lines))
    path = pathlib.Path(options.output_dir) / "predictions.tsv"
    write_atomically(path, "\n".join(lines) + "\n")


def _answer(answers, i):
    """The columns that show one answer."""
    if "score" in answers:
        return [f"{answers['score'][i]:.4f}"]
    if "labels" in answers:
        names = [name.decode() for name in answers["labels"][i] if name]
        return [LABEL_SEPARATOR.join(names)]
    return [answers["label"][i].decode(), f"{answers['probabilities'][i].max():.4f}"]
