"""Tokenizers beside checkpoints: records of them, ours or Hugging Face's, and files."""

import dataclasses
import os

from albert_tf.errors import UserError
from albert_tf.io import checksums
from albert_tf.io import storage
from albert_tf.io.files import read_json_object
from albert_tf.io.foreign import check_settings
from albert_tf.io.whole_folder import ChecksummedFolder
from albert_tf.io.whole_folder import require_whole
from albert_tf.row_layout import LAYOUTS
from albert_tf.tokenization.byte_bpe.files import MERGES
from albert_tf.tokenization.byte_bpe.files import VOCABULARY
from albert_tf.tokenization.rules import TextRules
from albert_tf.tokenization.tokenizer import CONFIG_NAME
from albert_tf.tokenization.wordpiece import official_vocabulary

HUGGINGFACE_FILE = "tokenizer.json"
"""A tokenizer in one file, without the SentencePiece model that is read here."""

_MAP_FILE, _LIST_FILE = "special_tokens_map.json", "added_tokens.json"
_ADDED_TOKENS = "added_tokens_decoder"
_ROLES = ("cls_token", "sep_token", "unk_token", "mask_token")
_SPECIAL = ("additional_special_tokens", "extra_special_tokens")
_HUGGINGFACE_FILES = ("config.json", HUGGINGFACE_FILE, _MAP_FILE)
_GOOGLES_BERT = "bert_config.json"
# Under other values their tokenizer splits texts otherwise than ours.
_FIXED = {
    "add_special_tokens": (True,),
    "clean_text": (True,),
    "do_basic_tokenize": (True,),
    "do_subword_tokenize": (True,),
    "do_word_tokenize": (True,),
    "handle_chinese_chars": (True,),
    "never_split": ([],),
    "remove_space": (True,),
    "sp_model_kwargs": ({}, {"enable_sampling": False}),
    "split_special_tokens": (False,),
    "subword_tokenizer_type": ("wordpiece",),
    "tokenize_chinese_chars": (True,),
    "word_tokenizer_type": ("basic",),
    "wordpieces_prefix": ("##",),
}
# Read here, or in `TextRules`; then those that change no id: of the library's own
# working, of decoding, of other kinds of tokenizers, and values of arguments that each
# call gives.
_KNOWN = """
    added_tokens added_tokens_decoder additional_special_tokens do_lower_case
    extra_special_tokens file kind padding_side row_layout special_tokens
    tokenizer_class cls_token mask_token sep_token unk_token
    _commit_hash _name_or_path backend bos_token cache_dir chat_template
    clean_up_tokenization_spaces config deprecation_warnings eos_token errors from_slow
    full_tokenizer_file init_inputs is_local legacy local_files_only max_len max_length
    max_seq_length merges_file model_input_names model_max_length name_or_path
    pad_to_multiple_of pad_token pad_token_type_id padding processor_class
    return_tensors special_tokens_map_file stride token tokenizer_file
    transformers_version trim_offsets truncation truncation_strategy unk_id
    use_auth_token use_fast verbose vocab_file
"""
# All of BERT's rules, RoBERTa's, or those that `tokenizer.json` tells.
_CLASSES = """
    Albert Bert ConvBert DistilBert Electra LayoutLM Longformer Lxmert MobileBert
    Roberta SqueezeBert XLNet
"""
_GENERAL_CLASSES = ("PreTrainedTokenizer", "TokenizersBackend")
# Where the others look for a SentencePiece model.
_SENTENCEPIECE_NAMES = {"tf1": "30k-clean.model", "huggingface": "spiece.model"}
# By kind and by the models that need the pieces.
_THEIR_CLASSES = {
    ("sentencepiece", "ALBERT"): "AlbertTokenizer",
    ("sentencepiece", "XLNet"): "XLNetTokenizer",
    ("wordpiece", "ALBERT"): "BertTokenizer",
    ("byte_bpe", "RoBERTa"): "RobertaTokenizer",
}
_SAVED_NAMES = (*_SENTENCEPIECE_NAMES.values(), "vocab.txt", VOCABULARY, MERGES)


def read_saved_config(directory):
    """Reads the records of a model's directory, which need not exist, on its tokenizer.

    Returns:
        A dict: "file", if `Tokenizer.save` wrote it, "row_layout", if it is not the
        vocabulary's, "do_lower_case", unless neither `tokenizer_config.json` nor
        `tokenizer.json` tells, the `TextRules` of the directory, and "added_tokens",
        if there are any.

    Raises:
        UserError: it is a tokenizer of Hugging Face's that ours is not equal to; or a
            file is gone that was written there.
    """
    require_whole(directory)
    path = os.path.join(directory, CONFIG_NAME)
    config = read_json_object(path) if storage.exists(path) else {}
    _check(path, config)
    if "file" not in config:
        config = {**_rules_of_the_kind(directory, config), **config}
        _check_settings(directory, path, config)
    if "do_lower_case" not in config:
        path = os.path.join(directory, HUGGINGFACE_FILE)
        if storage.exists(path):
            config["do_lower_case"] = _lowers(path)
    return config


def _check_settings(directory, path, config):
    """Refuses another class of tokenizers, and settings that are not followed."""
    own, source = config.get("tokenizer_class"), path
    if own is None:
        source = os.path.join(directory, "config.json")
        own = _read(directory, "config.json").get("tokenizer_class")
    classes = [f"{name}Tokenizer" for name in _CLASSES.split()]
    if own and str(own).removesuffix("Fast") not in (*classes, *_GENERAL_CLASSES):
        raise UserError(
            f"{source} sets tokenizer_class to {own!r}, whose pieces albert_tf does "
            f"not make; it reads those of {', '.join(classes)}."
        )
    rules = [field.name for field in dataclasses.fields(TextRules)]
    check_settings(config, path, {*_KNOWN.split(), *rules}, _FIXED)


def _rules_of_the_kind(directory, config):
    """Returns the rules of the program that wrote a directory, if it was not this one.

    Hugging Face's tokenizers of ALBERT join quotes, which the official code does not;
    theirs of BERT, and Google's, count the lines of `vocab.txt`.
    """
    is_theirs = "tokenizer_class" in config or any(
        storage.exists(os.path.join(directory, name)) for name in _HUGGINGFACE_FILES
    )
    if is_theirs:
        tokens = _their_added_tokens(directory, config)
        found = {"joins_quotes": True, "counts_lines": True, "added_tokens": tokens}
        told = _read(directory, _MAP_FILE)
        special = {*_names(told.get(_SPECIAL[0]))}
        special.update(name for key in _SPECIAL for name in _names(config.get(key)))
        roles = {key: told[key] for key in _ROLES if key in told}
        sides = _sides(_read(directory, HUGGINGFACE_FILE))
        return {**sides, **roles, **found, "special_tokens": sorted(special)}
    is_bert = storage.exists(os.path.join(directory, _GOOGLES_BERT))
    return {"counts_lines": True} if is_bert else {}


def _read(directory, name):
    """Reads a JSON object; {} where there is no file."""
    path = os.path.join(directory, name)
    return read_json_object(path) if storage.exists(path) else {}


def _sides(content):
    """Finds where a `tokenizer.json` cuts and pads, in its content."""
    found = {}
    for part in ("truncation", "padding"):
        own = content.get(part)
        if isinstance(own, dict) and isinstance(own.get("direction"), str):
            found[f"{part}_side"] = own["direction"].lower()
    return found


def _their_added_tokens(directory, config):
    """Lists the tokens that a directory has beside its vocabulary.

    `config` is the dict of its `tokenizer_config.json`.

    Returns:
        List of {"content", "id", "normalized", "lstrip"} in the order of the ids;
        special pieces of the vocabulary are among them.

    Raises:
        UserError: a file is damaged, the files contradict each other, or a token counts
            as a whole word only.
    """
    found = {}
    for path, tokens in _lists(directory, config):
        try:
            for token in tokens:
                _add(found, token["content"], int(token["id"]), token, path)
        except UserError:
            raise
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise UserError(
                f"{path} has a damaged list of added tokens ({error!r}); copy the file "
                "again."
            ) from error
    return sorted(found.values(), key=lambda token: token["id"])


def _add(found, content, index, token, path):
    if token.get("single_word"):
        raise UserError(
            f"{path} adds {content!r} as a whole word only (single_word), which "
            "albert_tf cannot look for; set it to false in all files there if no text "
            "has it within a word."
        )
    switches = {name: bool(token.get(name)) for name in ("normalized", "lstrip")}
    known = found.setdefault(content, {"content": content, "id": index, **switches})
    if known["id"] != index:
        raise UserError(
            f"{path} gives the added token {content!r} the id {index}, another file of "
            f"the directory the id {known['id']}; copy the files again."
        )


def _lists(directory, config):
    """Yields each file that lists tokens, and the dicts in it."""
    decoder = config.get(_ADDED_TOKENS)
    if decoder is not None:
        path = os.path.join(directory, CONFIG_NAME)
        yield path, ({"id": key, **value} for key, value in decoder.items())
    path = os.path.join(directory, HUGGINGFACE_FILE)
    if storage.exists(path):
        yield path, read_json_object(path).get("added_tokens") or []
    path = os.path.join(directory, _LIST_FILE)
    if storage.exists(path):
        special = _special_tokens(directory)
        tokens = (
            {"content": text, "id": index, "normalized": text not in special}
            for text, index in read_json_object(path).items()
        )
        yield path, tokens


def _special_tokens(directory):
    values = _read(directory, _MAP_FILE).values()
    return {name for value in values for name in _names(value)}


def _names(value):
    """Lists the contents of special tokens: of one, of a list, or of a dict of them."""
    if isinstance(value, dict):
        value = [value["content"]] if "content" in value else [*value.values()]
    values = value if isinstance(value, list) else [value] if value else []
    return [str(t.get("content") if isinstance(t, dict) else t) for t in values]


def check_special_pieces(tokenizer, config, path):
    """Refuses a directory, by its settings, with other special tokens than ours."""
    for role in _ROLES:
        piece = tokenizer.special_pieces[role.replace("token", "id")]
        theirs = config.get(role)
        theirs = theirs.get("content") if isinstance(theirs, dict) else theirs
        if theirs not in (None, piece):
            raise UserError(
                f"{path} (or {_MAP_FILE} beside it) sets {role} to {theirs!r}; "
                f"albert_tf reads only tokenizers of this kind with {piece!r}."
            )
    side = config.get("padding_side")
    # RoBERTa counts positions from the first token.
    usual = "left" if tokenizer.layout.pads_left else "right"
    if tokenizer.kind != "byte_bpe" and side not in (None, usual):
        raise UserError(
            f"{path} sets padding_side to {side!r}, under which the answer on a text "
            "depends on the others of its batch; albert_tf pads so that it does not: "
            f"set it to {usual!r}."
        )


def _check(path, config):
    """Refuses values of other types, and a file that lies elsewhere."""
    if type(config.get("do_lower_case", True)) is not bool:
        raise UserError(
            f"{path} sets do_lower_case to {config['do_lower_case']!r}, expected true "
            "or false."
        )
    layout = config.get("row_layout", "cls_first")
    if layout not in list(LAYOUTS):  # it may be no string
        raise UserError(
            f"{path} sets row_layout to {layout!r}, expected {' or '.join(LAYOUTS)}."
        )
    name = config.get("file", "-")
    if not storage.is_name(name):
        raise UserError(
            f"{path} sets file to {name!r}, expected the name of a file beside it."
        )


def _lowers(path):
    """Returns whether the normalizer of a `tokenizer.json` lowers letters."""
    pending = [read_json_object(path).get("normalizer") or {}]
    lowers = False
    while pending:
        normalizer = pending.pop()
        if not isinstance(normalizer, dict):
            raise UserError(
                f"{path} has the normalizer {normalizer!r}, expected an object."
            )
        parts = normalizer.get("normalizers", [])
        lowercase = normalizer.get("lowercase")
        if not isinstance(parts, list) or type(lowercase) not in (bool, type(None)):
            raise UserError(
                f"{path} has the normalizer {normalizer!r}, expected a list of "
                "normalizers, and true or false for lowercase."
            )
        lowers |= lowercase or normalizer.get("type") == "Lowercase"
        pending.extend(parts)
    return lowers


def save_for_others(tokenizer, directory, form):
    """Writes a tokenizer where the programs of another form look for it.

    The form is "tf1" or "huggingface".
    """
    files = {tokenizer.file_name: tokenizer.file_bytes}
    # The casing has Hugging Face's name.
    settings = tokenizer.settings()
    if tokenizer.kind == "sentencepiece":
        files = {_SENTENCEPIECE_NAMES[form]: tokenizer.file_bytes}
    if form == "huggingface":
        added = settings.pop("added_tokens", [])
        settings = {**_their_settings(tokenizer), **settings}
        if added:
            settings[_ADDED_TOKENS] = {str(t.pop("id")): _theirs(t) for t in added}
        if tokenizer.kind == "wordpiece" and not tokenizer.rules.counts_lines:
            # They count the lines, whatever these hold.
            files = {tokenizer.file_name: official_vocabulary(tokenizer.file_bytes)}
        if tokenizer.kind == "byte_bpe":
            files = tokenizer.byte_pairs.two_files()
    with ChecksummedFolder(directory) as folder:
        for name, content in files.items():
            folder.write(name, content)
        folder.write_json(CONFIG_NAME, settings)


def _theirs(token):
    # Their slow tokenizers find others in lower case only.
    special = not token["normalized"]
    return {**token, "special": special, "rstrip": False, "single_word": False}


def _their_settings(tokenizer):
    """Returns settings that their tokenizers do not know without being told."""
    settings = {
        # Without it, they take a directory of an ALBERT for one of SentencePiece.
        "tokenizer_class": _THEIR_CLASSES[tokenizer.kind, tokenizer.model_type],
        # Without it, transformers 5 gives ALBERT no segments.
        "model_input_names": ["input_ids", "token_type_ids", "attention_mask"],
    }
    if tokenizer.kind == "sentencepiece":
        settings |= {
            "keep_accents": tokenizer.keep_accents,
            # Of ours alone: theirs always joins them.
            "joins_quotes": tokenizer.joins_quotes,
        }
    return settings


def saved_files(directory):
    """Lists the files that a tokenizer was saved in there, in whatever form.

    They are those that `SHA256SUMS` names: a set, empty without a tokenizer.
    """
    listed = checksums.read(directory)
    if CONFIG_NAME not in listed:
        return set()
    try:
        config = read_saved_config(directory)
    except UserError:  # it is about to be replaced
        config = {}
    named = [config["file"]] if "file" in config else _SAVED_NAMES
    return {CONFIG_NAME, *(name for name in named if name in listed)}
