"""Predictions on raw text, without any table: --input_text or --input_file."""

import dataclasses

from albert_tf.cli.command_line import option
from albert_tf.errors import UserError
from albert_tf.io.files import write_atomically
from albert_tf.io.table_rows import OBJECTS
from albert_tf.io.table_rows import suffix_of
from albert_tf.io.text_files import read_lines

_NO_LINES = (".csv", *OBJECTS)


@dataclasses.dataclass(frozen=True, kw_only=True)
class RawTextFlags:
    """Raw text."""

    input_text: str | None = option("Text to predict.", None, may_change=True)
    input_text_pair: str | None = option(
        "Second text of --input_text, for tasks on pairs.", None, may_change=True
    )
    input_file: str | None = option(
        "File of texts to predict, one per line; a tab separates the two texts of a "
        "pair.",
        None,
        may_change=True,
    )

    @property
    def asks_raw_text(self):
        """True if --do_predict is meant for raw text, and not for the test table."""
        return self.input_text is not None or bool(self.input_file)


def check_flags(options):
    """Refuses flags of raw text that cannot be followed or would have no effect.

    Raises:
        UserError: it names them.
    """
    if options.input_text is not None and options.input_file:
        raise UserError(
            "A run predicts --input_text or --input_file, not both; give one of them."
        )
    if options.input_text_pair is not None and options.input_text is None:
        raise UserError(
            "--input_text_pair needs --input_text; in an --input_file a tab stands "
            "between the two texts of a line."
        )
    if options.asks_raw_text and not options.do_predict:
        raise UserError("--input_text and --input_file need --do_predict; add it.")


def read_raw_texts(flags, pair):
    """Reads the texts and, for pair tasks, the second texts (else None), as lists.

    Args:
        flags: `RawTextFlags`.
        pair: whether the task takes pairs; None: that is not known, and the flags
            decide.

    Raises:
        UserError: the file cannot be read or is empty, or texts do not fit the task.
    """
    if pair is None:
        pair = flags.input_text_pair is not None
    if flags.input_text is not None:
        row = (flags.input_text, flags.input_text_pair)
        rows = [[text for text in row if text is not None]]
    else:
        rows = _read_rows(flags.input_file, pair)
    expected = 2 if pair else 1
    for number, row in enumerate(rows, 1):
        if len(row) != expected:
            raise UserError(
                f"Text {number} of {flags.input_file or '--input_text'} has "
                f"{len(row)} text(s), but the model takes {expected}."
            )
    if not rows:
        raise UserError(f"--input_file={flags.input_file} is empty.")
    texts, *pairs = zip(*rows, strict=True)
    return list(texts), list(pairs[0]) if pairs else None


def _read_rows(input_file, pair):
    if suffix_of(input_file) in _NO_LINES:
        raise UserError(
            f"--input_file={input_file} is a table, expected a text on each line; put "
            "it into --data_dir as the test table, or write its texts to a .txt file."
        )
    lines = read_lines(input_file)
    return [line.split("\t") if pair else [line] for line in lines]


def predict_raw_text(answer, task, texts, pairs, batch_size, path):
    """Prints a line for each text: prediction, probability (if any), the text.

    Args:
        answer: the `Predictor` of the fine-tuned model.
        task: its `TextTask`.
        texts: list of strings.
        pairs: list of second texts, or None.
        batch_size: texts answered at a time.
        path: the file that the same lines go to.
    """
    inputs = [texts] if pairs is None else [texts, pairs]
    answers = answer(*inputs, batch_size=batch_size)
    lines = [
        "\t".join([*task.answer_columns(answer), *row])
        for answer, *row in zip(answers, *inputs, strict=True)
    ]
    print("\n".join(lines))
    write_atomically(path, "\n".join(lines) + "\n")
