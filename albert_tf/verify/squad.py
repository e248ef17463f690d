"""Recordings of reading comprehension: windows, heads and answers.

A folder is known by its files:

    features_NAME.npz and .json, NAME_dev.json, NAME_train.json   windows
    inputs.npz with start_positions, expected.npz, a checkpoint   a head
    inputs.npz with scores, predictions.json                      answers, of the
        windows features_NAME beside the folder answers_NAME_as_vN

A folder that has windows is compared with all such folders in it. Texts, ids and
positions are compared one by one: 1 where two differ, otherwise 0. Where recorded spans
do not match their pieces, ours may be better; they are counted.
"""

import os

from albert_tf.io.files import read_arrays
from albert_tf.verify import squad_answers
from albert_tf.verify import squad_head
from albert_tf.verify import squad_windows
from albert_tf.verify.recordings import Compared
from albert_tf.verify.recordings import names_in
from albert_tf.verify.recordings import read_windows
from albert_tf.verify.recordings import tokenizer_of

_INPUTS = "inputs.npz"


def compare(directory, vocabulary=None):
    """Yields a `Compared` for each recording in a folder; none if it holds no such.

    Args:
        directory: the folder.
        vocabulary: see `recordings.tokenizer_of`.

    Raises:
        UserError: a file is missing or does not fit the others.
    """
    names = names_in(directory)
    for name in names:
        recorded = read_windows(directory, name)
        tokenizer = tokenizer_of(directory, vocabulary, recorded.do_lower_case)
        compared = squad_windows.compare(recorded, tokenizer)
        yield Compared(f"features_{name}/", *compared)
    if not names:
        yield from _compare_folder(directory, "")
        return
    for inner in sorted(os.listdir(directory)):
        yield from _compare_folder(os.path.join(directory, inner), f"{inner}/")


def _compare_folder(directory, prefix):
    path = os.path.join(directory, _INPUTS)
    if not os.path.exists(path):
        return
    inputs = read_arrays(path)
    if squad_answers.knows(inputs):
        yield Compared(prefix, *squad_answers.compare(directory, inputs))
    elif squad_head.knows(inputs):
        yield Compared(prefix, *squad_head.compare(directory, inputs))
