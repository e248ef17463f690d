"""The files that describe pooling in sentence-transformers.

modules.json                        the modules of a model, in order
1_Pooling/config.json               the pooling
sentence_bert_config.json           the longest text
config_sentence_transformers.json   prompts, and how vectors are compared

A cross-encoder is a classifier of text pairs; its only module is the encoder.
"""

import os

from albert_tf import prompts
from albert_tf.errors import UserError
from albert_tf.io import storage
from albert_tf.io.files import read_json
from albert_tf.io.files import read_json_if_there
from albert_tf.io.files import read_json_object
from albert_tf.io.foreign import check_settings

MODULES, _LENGTH = "modules.json", "sentence_bert_config.json"
_POOLING_FOLDER, _CONFIG = "1_Pooling", "config.json"
_SETTINGS = "config_sentence_transformers.json"
FILES = (MODULES, _LENGTH, f"{_POOLING_FOLDER}/{_CONFIG}", _SETTINGS)
TEXT_VECTORS = "text_vectors"
"""Key under which `config.json` entries hold the pooling."""
ACTIVATION = "activation"
"""Key under which `config.json` entries hold the name of an activation."""
LONGEST = "longest_text"
"""Key under which `config.json` entries hold the maximal number of tokens in a row."""
_MODE = "pooling_mode"
_FLAGS = {
    f"{_MODE}_mean_tokens": "mean",
    f"{_MODE}_cls_token": "cls",
    f"{_MODE}_lasttoken": "lasttoken",
}
_KINDS = ["Transformer", "Pooling", "Normalize"]
_CLASSIFIER = "sequence-classification"
# Names of the first module's outputs, by its task.
_OUTPUTS = {
    "feature-extraction": ("token_embeddings", "last_hidden_state"),
    _CLASSIFIER: ("scores", "logits"),
}
_ACTIVATION = "activation_fn"
_OLD_ACTIVATION = "sbert_ce_default_activation_function"
_NO_LIMIT = 10**6  # transformers writes a larger number for "no limit"
_PACKAGE = "sentence_transformers"
_LIBRARY = f"{_PACKAGE}.models."
ACTIVATIONS = {
    name: {_PACKAGE: {_ACTIVATION: f"torch.nn.modules.{name}"}}
    for name in ("linear.Identity", "activation.Sigmoid")
}
"""Entries of a `config.json` by which a `CrossEncoder` applies a function."""


def read_settings(directory, entries, cls_last):
    """Reads what the files of a Hugging Face directory say.

    Args:
        directory: the directory.
        entries: the dict of its `config.json`.
        cls_last: whether `[CLS]` is the last token of the model's rows.

    Returns:
        A dict of `ACTIVATION`, None if no file names one, and, where the directory has
        them, `TEXT_VECTORS` and, of vectors or a cross-encoder, `LONGEST`.

    Raises:
        UserError: the modules are not an encoder, a supported pooling and optionally a
            normalisation; or a file has an unsupported setting.
    """
    # The configuration of some encoders has the entry "activation", too.
    found = {ACTIVATION: _read_activation(directory, entries)}
    if pooling := _read_pooling(directory, cls_last):
        found[TEXT_VECTORS] = pooling
    if (pooling or found[ACTIVATION]) and (longest := _longest(directory)):
        found[LONGEST] = longest
    return found


def _read_pooling(directory, cls_last):
    """Reads the pooling of a Hugging Face directory; None where it has none.

    Args:
        directory: the directory.
        cls_last: whether `[CLS]` is the last token of the model's rows.

    Returns:
        A dict of `pooling`, `normalize` and `prompts.FIELDS`.

    Raises:
        UserError: the modules are not an encoder, a supported pooling and optionally a
            normalisation; or a file has an unsupported setting.
    """
    path = os.path.join(directory, MODULES)
    if not storage.exists(path):
        return None
    kinds = _kinds(path)
    encoder = read_json_if_there(directory, _LENGTH)
    is_classifier = encoder.get("transformer_task") == _CLASSIFIER
    if list(kinds) == ["Transformer"] and is_classifier:
        _check_encoder(encoder, os.path.join(directory, _LENGTH), _CLASSIFIER)
        return None
    if list(kinds) not in (_KINDS[:2], _KINDS):
        raise UserError(
            f"{path} has the modules {', '.join(kinds)}; expected Transformer, Pooling "
            "and perhaps Normalize."
        )
    if kinds["Transformer"] or not storage.is_inside(kinds["Pooling"]):
        raise UserError(
            f"{path} has the paths {kinds['Transformer']!r} and {kinds['Pooling']!r}; "
            "expected '' for the encoder, whose files lie beside it, and a folder "
            "beside it for the pooling."
        )
    settings = os.path.join(directory, kinds["Pooling"], _CONFIG)
    found = {**_pooling(settings, cls_last), "normalize": "Normalize" in kinds}
    _check_encoder(encoder, os.path.join(directory, _LENGTH))
    return found | _prompts(directory, kinds)


def _check_encoder(entries, path, task="feature-extraction"):
    """Refuses unsupported settings of the first module."""
    name, output = _OUTPUTS[task]
    if entries.get("do_lower_case"):
        raise UserError(
            f"{path} sets do_lower_case, which is the tokenizer's to do; set it to "
            "false there, and in tokenizer_config.json to true."
        )
    forward = {"text": {"method": "forward", "method_output_name": output}}
    fixed = {
        "transformer_task": (task,),
        "module_output_name": (name,),
        "modality_config": (forward,),
    }
    check_settings(entries, path, {"max_seq_length", "unpad_inputs"}, fixed)


def _prompts(directory, kinds):
    """Reads the prompts; refuses settings that change vectors or their similarity."""
    name = "sentence_embedding"
    fixed = {"module_input_name": (name,), "module_output_name": (name,)}
    path = os.path.join(directory, kinds.get("Normalize", ""), _CONFIG)
    if "Normalize" in kinds:
        check_settings(read_json_if_there(path), path, (), fixed)
    path = os.path.join(directory, _SETTINGS)
    entries = read_json_if_there(path)
    # For vectors of length 1, the dot product is the cosine.
    products = ("dot", "dot_score") if "Normalize" in kinds else ()
    fixed = {
        "similarity_fn_name": ("cosine", *products),
        "model_type": ("SentenceTransformer",),
    }
    known = {"__version__", "prompts", "default_prompt_name", "requirements"}
    check_settings(entries, path, known, fixed)
    texts, default = entries.get("prompts") or {}, entries.get("default_prompt_name")
    prompts.check_settings(texts, default, source=f"{path}: ")
    return {"prompts": texts, "default_prompt_name": default}


def _read_activation(directory, entries):
    """Reads the name of the function that a cross-encoder applies to its outputs.

    Args:
        directory: a Hugging Face directory.
        entries: the dict of its `config.json`.

    Returns:
        A name such as "Sigmoid"; None if the model is not a cross-encoder, or if no
        file names a function.
    """
    settings = read_json_if_there(directory, _SETTINGS)
    told = entries.get(_PACKAGE)
    path = os.path.join(directory, _CONFIG)
    if isinstance(told, dict):
        check_settings(told, f"{path}: {_PACKAGE}", {_ACTIVATION, "version"})
        settings = {**told, **settings}
    name = settings.get(_ACTIVATION) or entries.get(_OLD_ACTIVATION)
    if name is None and settings.get("model_type") == "CrossEncoder":
        labels = entries.get("id2label")
        is_one = isinstance(labels, dict) and len(labels) == 1
        name = "Sigmoid" if is_one else "Identity"
    return name and str(name).rpartition(".")[2]


def check_activation(entries):
    """Refuses a cross-encoder whose activation no classifier here has.

    Args:
        entries: the dict of a `config.json`, with `read_settings`.
    """
    name, kind = entries.get(ACTIVATION), entries.get("problem_type")
    if name in (None, "Identity") or applies_sigmoid(entries):
        return
    if (name, kind) != ("Sigmoid", "multi_label_classification"):
        raise UserError(
            f"The cross-encoder applies {name} to its outputs ({_ACTIVATION} in "
            f"{_SETTINGS} or {_CONFIG}), which albert_tf does to those of "
            'multi_label_classification only (Sigmoid): set "problem_type" to that in '
            f"{_CONFIG}; or {_ACTIVATION} to torch.nn.Identity, to get the numbers "
            "before it."
        )


def applies_sigmoid(entries):
    """Returns whether a cross-encoder has one output, a share by the sigmoid."""
    labels = entries.get("id2label")
    is_one = isinstance(labels, dict) and len(labels) == 1
    return is_one and entries.get(ACTIVATION) == "Sigmoid"


def pooling_files(
    pooling, normalize, width, cls_last, max_seq_length=None, prompted=None
):
    """Makes the contents of the files, JSON values by file name.

    Args:
        pooling, normalize: see `AlbertForTextEmbedding`.
        width: the width of the vectors.
        cls_last: see `read_settings`.
        max_seq_length: the maximal tokens of a text, if known.
        prompted: the result of `prompts.settings_of`, or None.

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
    settings = dict(prompted or {})
    if "include_prompt" in settings:
        chosen["include_prompt"] = settings.pop("include_prompt")
    files = {
        MODULES: modules,
        f"{_POOLING_FOLDER}/{_CONFIG}": {"word_embedding_dimension": width, **chosen},
    }
    if max_seq_length:
        files[_LENGTH] = {"max_seq_length": max_seq_length, "do_lower_case": False}
    if settings:
        files[_SETTINGS] = {**settings, "similarity_fn_name": "cosine"}
    return files


def _kinds(path):
    """Reads `modules.json`: the folder of each module, by kind and in order."""
    modules = read_json(path)
    try:
        for own in modules:
            check_settings(own, path, {"idx", "name", "path", "type"})
            if own["type"].partition(".")[0] != _PACKAGE:
                raise UserError(
                    f"{path} has the module {own['type']}, a program of its own, which "
                    f"albert_tf cannot run; expected modules of {_PACKAGE}."
                )
        return {own["type"].rpartition(".")[2]: own["path"] for own in modules}
    except (AttributeError, KeyError, TypeError) as error:
        raise UserError(
            f"{path} is no list of modules with a type and a path; copy it again."
        ) from error


def _longest(directory):
    """Reads the maximal number of tokens in a row; None if the directory has none.

    Later versions leave it to the tokenizer's file.
    """
    for name, key in (
        (_LENGTH, "max_seq_length"),
        ("tokenizer_config.json", "model_max_length"),
    ):
        said = read_json_if_there(directory, name)
        if type(said.get(key)) is int and said[key] < _NO_LIMIT:
            return said[key]
    return None


def _pooling(path, cls_last):
    """Reads the pooling: flags in earlier versions, a name in later ones.

    Returns:
        A dict of `pooling` and `include_prompt`.
    """
    modes = {"mean": "mean", "lasttoken" if cls_last else "cls": "cls"}
    entries = read_json_object(path)
    dimensions = {"embedding_dimension", "word_embedding_dimension", "include_prompt"}
    modes_of_old = (n for n in entries if n.startswith(f"{_MODE}_"))
    check_settings(entries, path, {*dimensions, _MODE, *modes_of_old})
    flags = [n for n, on in entries.items() if n.startswith(f"{_MODE}_") and on]
    names = [_FLAGS.get(flag, flag) for flag in flags]
    chosen = entries.get(_MODE, names)
    chosen = [chosen] if isinstance(chosen, str) else chosen
    if not isinstance(chosen, list) or len(chosen) != 1 or chosen[0] not in modes:
        raise UserError(
            f"{path} asks for the pooling {chosen!r}; expected one of "
            f"{', '.join(modes)}."
        )
    included = entries.get("include_prompt", True)
    prompts.check_settings({}, None, included, source=f"{path}: ")
    return {"pooling": modes[chosen[0]], "include_prompt": included}
