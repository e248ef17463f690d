"""The raw text that run_classifier predicts: --input_text or --input_file."""

import pathlib

from albert_tf.errors import UserError


def read_raw_texts(options, task):
    """The texts and, for pair tasks, the second texts (else None), as lists.

    Raises:
        UserError: the file cannot be read or is empty, or texts do not fit the task.
    """
    if options.input_text is not None:
        rows = [[options.input_text]]
        if options.input_text_pair is not None:
            rows[0].append(options.input_text_pair)
    else:
        try:
            text = pathlib.Path(options.input_file).read_text(
                encoding="utf-8", errors="replace"
            )
        except OSError as error:
            raise UserError(
                f"--input_file={options.input_file} cannot be read: {error.strerror}."
            ) from error
        lines = text.rstrip("\n").split("\n") if text else []
        rows = [line.split("\t") if task.pair else [line] for line in lines]
    expected = 2 if task.pair else 1
    for number, row in enumerate(rows, 1):
        if len(row) != expected:
            raise UserError(
                f"Text {number} of {options.input_file or '--input_text'} has "
                f"{len(row)} part(s), but the model takes {expected}."
            )
    if not rows:
        raise UserError(f"--input_file={options.input_file} is empty.")
    texts, *pairs = zip(*rows, strict=True)
    return list(texts), list(pairs[0]) if pairs else None
