"""The files with which sentence-transformers says how tokens become a vector.

modules.json                  the modules of a model, one after the other
1_Pooling/config.json         the pooling
sentence_bert_config.json     the longest text
"""

import os

from albert_tf.errors import UserError
from albert_tf.io import storage
from albert_tf.io.files import read_json
from albert_tf.io.files import read_json_object

MODULES, _LENGTH = "modules.json", "sentence_bert_config.json"
_POOLING_FOLDER, _CONFIG = "1_Pooling", "config.json"
FILES = (MODULES, _LENGTH, f"{_POOLING_FOLDER}/{_CONFIG}")
TEXT_VECTORS = "text_vectors"
"""Entry that the result of `read_pooling` has among those of `config.json`."""
_MODE = "pooling_mode"
_FLAGS = {
    f"{_MODE}_mean_tokens": "mean",
    f"{_MODE}_cls_token": "cls",
    f"{_MODE}_lasttoken": "lasttoken",
}
_NO_LIMIT = 10**6  # transformers writes a number beyond for none
_LIBRARY = "sentence_transformers.models."


def read_pooling(directory, cls_last):
    """Reads the pooling of a directory; None where it has no `modules.json`.

    Args:
        directory: a Hugging Face directory.
        cls_last: whether `[CLS]` is the last token of the model's rows.

    Returns:
        A dict of `pooling`, `normalize` and, where the directory says it,
        `max_seq_length`.

    Raises:
        UserError: the modules are not an encoder, a pooling that this package has and
            perhaps a normalisation.
    """
    path = os.path.join(directory, MODULES)
    if not storage.exists(path):
        return None
    kinds = _kinds(path)
    if list(kinds)[:2] != ["Transformer", "Pooling"] or list(kinds)[2:] not in (
        [],
        ["Normalize"],
    ):
        raise UserError(
            f"{path} has the modules {', '.join(kinds)}; expected Transformer, Pooling "
            "and perhaps Normalize."
        )
    if kinds["Transformer"]:
        raise UserError(
            f"{path} says that the encoder lies in {kinds['Transformer']}; move its "
            f"files to {directory}, and give it the path '' there."
        )
    if not storage.is_inside(kinds["Pooling"]):
        raise UserError(
            f"{path} says that the pooling lies in {kinds['Pooling']!r}, expected a "
            "folder beside it."
        )
    settings = os.path.join(directory, kinds["Pooling"], _CONFIG)
    found = {"pooling": _pooling(settings, cls_last), "normalize": "Normalize" in kinds}
    longest = _longest(directory)
    return {**found, "max_seq_length": longest} if longest else found


def pooling_files(pooling, normalize, width, cls_last, max_seq_length=None):
    """Makes the content of the files, JSON values by name.

    Args:
        pooling, normalize: of the model.
        width: numbers of a vector.
        cls_last: as of `read_pooling`.
        max_seq_length: tokens of a text at most, if that is known.

    Raises:
        UserError: sentence-transformers does not have the pooling.
    """
    modes = {"mean": "mean", "cls": "lasttoken" if cls_last else "cls"}
    if pooling not in modes:
        raise UserError(
            f"sentence-transformers has no pooling {pooling!r}; save with pooling "
            f"{' or '.join(modes)}, or as a model directory."
        )
    kinds = {"Transformer": "", "Pooling": _POOLING_FOLDER}
    if normalize:
        kinds["Normalize"] = "2_Normalize"
    modules = [
        {"idx": place, "name": str(place), "path": path, "type": _LIBRARY + kind}
        for place, (kind, path) in enumerate(kinds.items())
    ]
    chosen = {flag: mode == modes[pooling] for flag, mode in _FLAGS.items()}
    files = {
        MODULES: modules,
        f"{_POOLING_FOLDER}/{_CONFIG}": {"word_embedding_dimension": width, **chosen},
    }
    if max_seq_length:
        files[_LENGTH] = {"max_seq_length": max_seq_length, "do_lower_case": False}
    return files


def _kinds(path):
    """Reads `modules.json`: the folder of each module by its kind, in their order."""
    modules = read_json(path)
    try:
        return {own["type"].rpartition(".")[2]: own["path"] for own in modules}
    except (AttributeError, KeyError, TypeError) as error:
        raise UserError(
            f"{path} is no list of modules with a type and a path; copy it again."
        ) from error


def _longest(directory):
    """Reads the longest text: later versions leave it to the tokenizer's file."""
    for name, key in (
        (_LENGTH, "max_seq_length"),
        ("tokenizer_config.json", "model_max_length"),
    ):
        path = os.path.join(directory, name)
        said = read_json_object(path) if storage.exists(path) else {}
        if said.get("do_lower_case") and name == _LENGTH:
            raise UserError(
                f"{path} sets do_lower_case, which is the tokenizer's to do; set it to "
                "false there, and in tokenizer_config.json to true."
            )
        if type(said.get(key)) is int and said[key] < _NO_LIMIT:
            return said[key]
    return None


def _pooling(path, cls_last):
    """Reads the pooling, which earlier versions name by flags, later ones by a name."""
    modes = {"mean": "mean", "lasttoken" if cls_last else "cls": "cls"}
    entries = read_json_object(path)
    flags = [n for n, on in entries.items() if n.startswith(f"{_MODE}_") and on]
    names = [_FLAGS.get(flag, flag) for flag in flags]
    chosen = entries.get(_MODE, names)
    chosen = [chosen] if isinstance(chosen, str) else chosen
    if not isinstance(chosen, list) or len(chosen) != 1 or chosen[0] not in modes:
        raise UserError(
            f"{path} asks for the pooling {chosen!r}; expected one of "
            f"{', '.join(modes)}."
        )
    return modes[chosen[0]]
