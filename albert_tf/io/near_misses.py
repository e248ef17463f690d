"""Guesses at the name or path that a user meant, of this project or of others."""

import difflib
import functools
import inspect
import os
import re

from albert_tf.errors import UserError
from albert_tf.io import storage

_MANY = 10_000  # names in a folder; more are not compared
# Where the output folder of a fine-tuning run, or of several runs, holds a model.
_MODELS_OF_RUNS = ("model", "run_0/model")
_NAMES = {
    r"\w*Tokenizer(Fast)?": "load_tokenizer(path)",
    r"AutoConfig|BertConfig": "AlbertConfig.from_json_file(path)",
    r"AutoModel|(TF|Flax)AlbertModel|Bert(Model|Backbone)|AlbertBackbone": (
        "AlbertModel.from_pretrained(path)"
    ),
    r"(AutoModel|TFAutoModel|TFAlbert|Bert|TFBert)For(?P<head>PreTraining|MaskedLM"
    r"|(Sequence|Token)Classification|QuestionAnswering|MultipleChoice)": (
        "AlbertFor{head}.from_pretrained(path)"
    ),
    r"AlbertMaskedLM": "AlbertForMaskedLM.from_pretrained(path)",
    r"\w*TextClassifier|Trainer(ingArguments)?": "TextClassifier(path)",
    r"pipeline|\w*Pipeline": "Predictor(path)",
}
_OF_TOKENIZERS = {
    r"pad|prepare_for_model|encode_plus|batch_encode_plus": (
        "tokenizer(texts, text_pairs, max_length=…, padding=…)"
    ),
    r"build_inputs_with_special_tokens|create_token_type_ids_from_sequences": (
        "tokenizer(texts, text_pairs)"
    ),
    r"convert_tokens_to_string|detokenize": "decode(ids)",
    r"from_pretrained|from_preset": "albert_tf.load_tokenizer(path)",
    r"save_pretrained|save_to_preset": "save(directory)",
    r"model_max_length|sequence_length": "tokenizer(texts, max_length=…)",
    r"add_tokens|add_special_tokens": "the pieces that the vocabulary has",
}
_ARGUMENTS = {
    r"id2label|label2id": 'labels=["sad", "glad"], in the order of their ids',
    r"num_classes": "num_labels=…",
    r"problem_type": "label_kind=…",
    r"return_dict|preprocessor|torch_dtype|device(_map)?|use_safetensors|from_pt"
    r"|trust_remote_code|show_progress_bar|convert_to_\w+|shuffle": (
        "nothing in its place"
    ),
    r"output_hidden_states": 'model(features)["hidden_states"], always there',
    r"output_attentions": "AlbertModel.from_pretrained(path, return_attentions=True)",
    r"return_tensors": "nothing in its place: models take what the tokenizer returns",
    r"return_(attention_mask|token_type_ids)": "nothing in its place: all are returned",
    r"return_offsets_mapping": "tokenizer.encode_with_offsets(text)",
    r"return_(?!attentions)\w+|add_special_tokens|is_split_into_words|stride": (
        "tokenizer(texts, text_pairs, max_length=…, padding=…)"
    ),
    r"do_lower_case|keep_accents": "albert_tf.load_tokenizer(path, do_lower_case=…)",
}
# By names of others, the arguments of `fit`.
_OF_FIT = {
    r"num_(train_)?epochs|epochs": "epochs",
    r"(per_device_)?train_batch_size": "batch_size",
    r"lr|learning_rate": "learning_rate",
    r"weight_decay|warmup_\w+": "optimizer",
    r"eval_data(set)?|validation_data": "validation_data",
    r"validation_split": "validation_split",
}
_HANDED_ON = {  # to `keras.Model.fit`
    "callbacks",
    "class_weight",
    "initial_epoch",
    "steps_per_epoch",
    "validation_batch_size",
    "validation_freq",
    "validation_steps",
    "verbose",
}
# Names and values of configurations: ModernBERT's, BERT's and others'.
_CONFIGURATION = {
    r"(attention|mlp|norm|ffn|qkv|linear)_bias|bias|no_bias": "use_bias",
    r"local_attention|sliding_window|attention_window|window_size": (
        "local_attention_window"
    ),
    r"global_attn_every_n_layers|global_attention_every_n_layers": (
        "global_attention_every"
    ),
    r"hidden_activation|activation(_function)?|ff_activation|mlp_activation": (
        "hidden_act"
    ),
    r"position_embeddings?|pos_emb(edding)?_type|positional?_encoding": (
        "position_embedding_type"
    ),
    r"pre_?norm|norm_type|normali[sz]e_before|norm_first|layer_?norm_position": "norm",
    r"absolute": "learned",
    r"rope|rotary_embedding|use_rotary": "rotary",
    r"gated_gelu|gelu_gated|glu": "geglu",
    r"gated_silu|silu_gated|swish_glu|silu|swish": "swiglu",
    r"pre_ln|before|pre_layer_?norm": "pre",
    r"post_ln|after|post_layer_?norm": "post",
}


def close_name(name, names):
    """Returns the one of `names` that looks most like `name`, or None."""
    return next(iter(difflib.get_close_matches(name, names, n=1)), None)


def did_you_mean(path):
    """Returns a question to end a message about a path that does not exist.

    Returns:
        "; did you mean k99/model?" if there is a path whose parts equal `path`'s
        or look like them, else "".
    """
    path = os.fspath(path)
    if not path or storage.is_remote(path) or os.path.lexists(path):
        return ""
    found = os.path.abspath(os.sep) if os.path.isabs(path) else ""
    for part in os.path.normpath(path).split(os.sep):
        if os.path.lexists(os.path.join(found, part)):
            found = os.path.join(found, part)
            continue
        close = close_name(part, _names_in(found))
        if close is None:
            return ""
        found = os.path.join(found, close)
    return f"; did you mean {found}?"


def model_file(folder, name):
    """Returns the path of a file of a model, which may lie deeper; None without it."""
    for place in ("", *_MODELS_OF_RUNS):
        path = os.path.join(folder, place, name)
        if storage.exists(path):
            return path
    return None


def _names_in(folder):
    try:
        names = os.listdir(folder or ".")
    except OSError:
        return []
    return sorted(name for name in names if not name.startswith("."))[:_MANY]


def of_module(name):
    """Returns the message of an `AttributeError` of the package."""
    return _message("module 'albert_tf'", name, _NAMES, "albert_tf.")


def of_tokenizer(name):
    """Returns the message of an `AttributeError` of a tokenizer."""
    return _message("The tokenizer", name, _OF_TOKENIZERS)


def of_configuration(name):
    """Returns a configuration's name for a key or value of others; None if unknown."""
    return _meant(name, _CONFIGURATION)


def refuse_arguments(owner, arguments, known, maker=None):
    """Says what to type in place of arguments of others, and of misspelt ones.

    Args:
        owner: the callable that does not take them.
        arguments: names.
        known: names of those that it takes.
        maker: the class that takes others, if the callable is a method of it.

    Raises:
        UserError: there is such an argument.
    """
    for name in (name for name in arguments if name not in known):
        meant = _meant(name, _ARGUMENTS) or _of_fit(name, owner, known)
        close = close_name(name, (*known, *(arguments_of(maker) if maker else ())))
        if close and close not in known and not meant:
            meant = f"{maker.__name__}(path, {close}=…)"
        hint = f"did you mean {close}?" if close else f"it takes {', '.join(known)}."
        hint = f"use {meant}." if meant else hint
        raise UserError(f"{owner} takes no {name}; {hint}")


def _of_fit(name, owner, known):
    """Returns the place of an argument of training; None for another."""
    own = _meant(name, _OF_FIT)
    if own is None or own in known:
        return own and f"{own}=…"
    return "evaluate(…)" if owner.endswith(".fit") else f"fit(…, {own}=…)"


def refusing_keywords(maker):
    """Lets the methods of a class refuse keywords that they do not take.

    See `refuse_arguments`.
    """
    for name, method in [*vars(maker).items()]:
        if inspect.isfunction(method) and not name.startswith("_"):
            setattr(maker, name, _refusing(method, maker))
    return maker


def _refusing(method, maker):
    known = {*arguments_of(method)}
    if inspect.getfullargspec(method).varkw:
        known |= _HANDED_ON

    @functools.wraps(method)
    def call(*args, **kwargs):
        refuse_arguments(method.__qualname__, kwargs, sorted(known), maker)
        return method(*args, **kwargs)

    return call


@functools.cache
def arguments_of(*functions):
    """Returns the names of the arguments that functions or classes take, a tuple."""
    kinds = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    found = [p for f in functions for p in inspect.signature(f).parameters.values()]
    return tuple(sorted({p.name for p in found if p.kind in kinds} - {"self"}))


def _message(owner, name, table, prefix=""):
    meant = _meant(name, table)
    hint = f"; use {prefix}{meant}" if meant else ""
    return f"{owner} has no attribute {name!r}{hint}"


def _meant(name, table):
    for pattern, meant in table.items():
        if found := re.fullmatch(pattern, name):
            return meant.format(**found.groupdict())
    return None
