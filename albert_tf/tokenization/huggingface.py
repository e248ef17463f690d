"""Reading and writing of tokenizer files in Hugging Face's formats."""

import base64
import collections
import contextlib
import functools
import json
import os

from albert_tf.errors import UserError
from albert_tf.io import storage
from albert_tf.io.files import read_json_if_there
from albert_tf.io.foreign import check_settings
from albert_tf.io.whole_folder import ChecksummedFolder
from albert_tf.row_layout import CLS_FIRST
from albert_tf.row_layout import CLS_LAST
from albert_tf.row_layout import ONE_SEGMENT
from albert_tf.row_layout import TWO_SEPARATORS
from albert_tf.tokenization import deberta
from albert_tf.tokenization import sentencepiece_file
from albert_tf.tokenization.added_tokens import AddedToken
from albert_tf.tokenization.byte_bpe import tokenizer_json
from albert_tf.tokenization.for_tokenizers import own_file
from albert_tf.tokenization.for_tokenizers import write_whole_file
from albert_tf.tokenization.tokenizer import CONFIG_NAME
from albert_tf.tokenization.tokenizer import TextRules
from albert_tf.tokenization.word_starts import MARK
from albert_tf.tokenization.wordpiece import official_vocabulary

HUGGINGFACE_FILE = "tokenizer.json"
"""Hugging Face's file for a whole tokenizer; it holds no SentencePiece model."""

_MAP_FILE, _LIST_FILE = "special_tokens_map.json", "added_tokens.json"
_ADDED_TOKENS = "added_tokens_decoder"
_ROLES = ("cls_token", "sep_token", "unk_token", "mask_token")
_SPECIAL = ("additional_special_tokens", "extra_special_tokens")
_HUGGINGFACE_FILES = ("config.json", HUGGINGFACE_FILE, _MAP_FILE)
_GOOGLES_BERT = "bert_config.json"
# With other values, Hugging Face's tokenizer splits texts differently.
_ON = """
    add_special_tokens clean_text do_basic_tokenize do_subword_tokenize do_word_tokenize
    handle_chinese_chars remove_space tokenize_chinese_chars
"""
_FIXED = {
    **dict.fromkeys(_ON.split(), (True,)),
    "never_split": ([],),
    "sp_model_kwargs": ({}, {"enable_sampling": False}),
    "split_by_punct": (False,),
    "split_special_tokens": (False,),
    "subword_tokenizer_type": ("wordpiece",),
    "vocab_type": ("spm",),
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
# Classes with BERT's rules, RoBERTa's, or the rules in `tokenizer.json`.
_CLASSES = """
    Albert Bert ConvBert DebertaV2 DistilBert Electra LayoutLM Longformer Lxmert
    MobileBert Roberta SqueezeBert XLMRoberta XLNet
"""
_GENERAL_CLASSES = ("PreTrainedTokenizer", "TokenizersBackend")
# Where other programs look for a SentencePiece model.
_SENTENCEPIECE_NAMES = {"tf1": "30k-clean.model", "huggingface": "spiece.model"}
# By kind and by the models that need the pieces, where there is no `tokenizer.json`.
_THEIR_CLASSES = {
    ("sentencepiece", "ALBERT"): "AlbertTokenizer",
    ("sentencepiece", "XLNet"): "XLNetTokenizer",
    ("sentencepiece", "XLM-R"): "XLMRobertaTokenizer",
    ("sentencepiece", "DeBERTa"): "DebertaV2Tokenizer",
}
# The class that follows a `tokenizer.json`; others apply rules of their own.
_FAITHFUL_CLASS = "PreTrainedTokenizerFast"


@contextlib.contextmanager
def undamaged(path):
    """Turns errors of a block that reads a tokenizer into errors that name the file.

    Raises:
        UserError: the block finds unexpected types, keys or values.
    """
    try:
        yield
    except UserError:
        raise
    except (
        AttributeError,
        LookupError,
        RecursionError,
        TypeError,
        ValueError,
    ) as error:
        raise UserError(
            f"{path} holds a damaged tokenizer ({error!r}); copy it again."
        ) from error


def read_records(directory, config):
    """Reads how another program's tokenizer in a directory prepares texts.

    Hugging Face's ALBERT tokenizers join quotes, which the official code does not;
    Hugging Face's and Google's BERT tokenizers count the lines of `vocab.txt`.

    Args:
        directory: a folder.
        config: the dict of its `tokenizer_config.json`.

    Returns:
        `config` with the `TextRules` of the directory, "added_tokens" if there are any,
        and "do_lower_case" if `tokenizer.json` tells.

    Raises:
        UserError: albert_tf cannot reproduce the tokenizer, or a file is damaged.
    """
    found = {}
    # The prefix of a TF1 checkpoint is not a folder.
    names = storage.names_in(directory) if storage.is_folder(directory) else []
    if "tokenizer_class" in config or not {*_HUGGINGFACE_FILES}.isdisjoint(names):
        found = {"joins_quotes": True, "counts_lines": True}
        with undamaged(directory):
            content = read_json_if_there(directory, HUGGINGFACE_FILE)
            found |= _of_one_file(content) if HUGGINGFACE_FILE in names else {}
            told = read_json_if_there(directory, _MAP_FILE)
            found |= {key: told[key] for key in _ROLES if key in told}
            special = {*_names(told.get(_SPECIAL[0]))}
            special.update(name for key in _SPECIAL for name in _names(config.get(key)))
            found["special_tokens"] = sorted(special)
            lists = _lists(directory, config, content, told)
            found["added_tokens"] = _their_added_tokens(lists)
    elif _GOOGLES_BERT in names:
        found["counts_lines"] = True
    config = {**found, **config}
    _check_settings(directory, config)
    return config


def _of_one_file(content):
    """Reads casing, truncation and padding from a `tokenizer.json`."""
    found = {"do_lower_case": _lowers(content.get("normalizer") or {})}
    for part in ("truncation", "padding"):
        direction = (content.get(part) or {}).get("direction")
        if direction:
            found[f"{part}_side"] = direction.lower()
    return found


def _lowers(normalizer):
    """Returns whether the normalizer of a `tokenizer.json` lowers letters."""
    lowercase = normalizer.get("lowercase")
    if type(lowercase) not in (bool, type(None)):
        raise TypeError(f"lowercase is {lowercase!r}")
    parts = [*map(_lowers, list(normalizer.get("normalizers", [])))]
    return bool(lowercase) or normalizer.get("type") == "Lowercase" or any(parts)


def _check_settings(directory, config):
    """Refuses unsupported tokenizer classes and settings."""
    path = os.path.join(directory, CONFIG_NAME)
    own, source = config.get("tokenizer_class"), path
    if own is None:
        source = os.path.join(directory, "config.json")
        own = read_json_if_there(directory, "config.json").get("tokenizer_class")
    classes = [f"{name}Tokenizer" for name in _CLASSES.split()]
    if own and str(own).removesuffix("Fast") not in (*classes, *_GENERAL_CLASSES):
        raise UserError(
            f"{source} sets tokenizer_class to {own!r}, whose pieces albert_tf does "
            f"not make; it reads those of {', '.join(classes)}."
        )
    rules = TextRules.__dataclass_fields__
    check_settings(config, path, {*_KNOWN.split(), *rules}, _FIXED)


def _their_added_tokens(lists):
    """Joins the lists of added tokens in a directory.

    Returns:
        List of {"content", "id", "normalized", "lstrip"} in the order of the ids,
        including the vocabulary's special pieces.

    Raises:
        UserError: a file is damaged, the files contradict each other, or a token must
            be a whole word.
    """
    found = {}
    for path, tokens in lists:
        for token in tokens:
            _add(found, token["content"], int(token["id"]), token, path)
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


def _lists(directory, config, content, told):
    """Yields each file that lists tokens, and a list of their dicts.

    Args:
        directory: a folder.
        config, content, told: the contents of its `tokenizer_config.json`,
            `tokenizer.json` and `special_tokens_map.json`.
    """
    entries = config.get(_ADDED_TOKENS) or {}
    tokens = [{"id": index, **token} for index, token in entries.items()]
    yield os.path.join(directory, CONFIG_NAME), tokens
    yield os.path.join(directory, HUGGINGFACE_FILE), content.get("added_tokens") or []
    special = {name for value in told.values() for name in _names(value)}
    tokens = [
        {"content": text, "id": index, "normalized": text not in special}
        for text, index in read_json_if_there(directory, _LIST_FILE).items()
    ]
    yield os.path.join(directory, _LIST_FILE), tokens


def _names(value):
    """Lists the contents of one special token, or of a list or dict of them."""
    if isinstance(value, dict):
        value = [value["content"]] if "content" in value else [*value.values()]
    values = value if isinstance(value, list) else [value] if value else []
    return [str(t.get("content") if isinstance(t, dict) else t) for t in values]


def check_special_pieces(tokenizer, config, path):
    """Refuses a directory whose settings give the tokenizer other special tokens."""
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


def with_added_tokens(base, config, source):
    """Adds a directory's added tokens to its tokenizer.

    Special pieces in texts are ordinary text, except RoBERTa's.

    Args:
        base: the vocabulary's tokenizer.
        config: the result of `read_saved_config`.
        source: the name of the config's file.

    Raises:
        UserError: the list is damaged or does not fit the vocabulary.
    """
    with undamaged(source):
        added = [AddedToken(**token) for token in config.get("added_tokens", [])]
        for token in added:
            are_types = [*map(type, token)] == [str, int, bool, bool]
            if not are_types or not token.content or token.id < 0:
                raise ValueError(token)
    listed = {token.content for token in added}
    # XLNet never looks for its "<eop>" and "<eod>", which need no id.
    special = [] if base.model_type == "XLNet" else config.get("special_tokens", [])
    vocabulary = base.get_vocab()
    for name in special:
        if name not in (*listed, *vocabulary) and not base.is_reserved(name):
            raise UserError(
                f"{source}: the special token {name!r} of the directory has no id, "
                "neither in the vocabulary nor in a list of added tokens; copy "
                "added_tokens.json or tokenizer.json there, too."
            )
        if name not in listed and name in vocabulary:
            added.append(AddedToken(name, vocabulary[name]))
    added = base.looked_for(added)
    return base.with_added(added, source) if added else base


_SHOWN = 500  # characters of a part in a message
# The parts of a `tokenizer.json` that albert_tf supports.
_WORDPIECE = {
    "unk_token": "[UNK]",
    "continuing_subword_prefix": "##",
    "max_input_chars_per_word": 100,
}
_BERT_NORMALIZER = {
    "type": "BertNormalizer",
    "clean_text": True,
    "handle_chinese_chars": True,
}
_BYTE_BPE = """
    dropout continuing_subword_prefix end_of_word_suffix byte_fallback ignore_merges
"""
_QUOTES = [
    {"type": "Replace", "pattern": {"String": quotes}, "content": '"'}
    for quotes in ("``", "''")
]
_WITHOUT_ACCENTS = [{"type": "NFKD"}, {"type": "StripAccents"}]
_METASPACE = {"type": "Metaspace", "replacement": MARK, "split": True}
_METASPACE |= {"prepend_scheme": "always"}
_BY_WORDS = {
    "type": "Sequence",
    "pretokenizers": [{"type": "WhitespaceSplit"}, _METASPACE],
}


def read_tokenizer_json(file_bytes, path):
    """Reads the vocabulary and the text rules of a `tokenizer.json`.

    Returns:
        The usual name of the vocabulary's file, its bytes, and a dict of
        "do_lower_case" and the `TextRules`, as `tokenizer_config.json` records them.

    Raises:
        UserError: the file is damaged, or albert_tf cannot prepare texts like it.
    """
    content = json.loads(file_bytes)
    model = content["model"]
    require = functools.partial(_require, path)
    kind = model["type"]
    require("model", kind, kind if kind in _READERS else None, "vocabulary")
    return _READERS[kind](content, model, require)


def _require(path, part, found, expected, file):
    """Refuses a file with an unexpected part; the message suggests `file` instead."""
    if found != expected:
        found = json.dumps(found, ensure_ascii=False)[:_SHOWN]
        raise UserError(
            f"{path} has the {part} {found}, which albert_tf cannot follow exactly; "
            f"put the {file} beside it that the model was trained with."
        )


def _read_wordpiece(content, model, require):
    require = functools.partial(require, file="vocab.txt")
    require("model", {key: model[key] for key in _WORDPIECE}, _WORDPIECE)
    steps = content["normalizer"]
    steps = list(steps["normalizers"]) if steps["type"] == "Sequence" else [steps]
    # sentence-transformers puts one first for its own do_lower_case.
    lowers_first = steps[0] == {"type": "Lowercase"}
    lowers, strips = steps[-1].get("lowercase") is True, steps[-1].get("strip_accents")
    own = {**_BERT_NORMALIZER, "lowercase": lowers, "strip_accents": strips}
    require("normalizers", steps, [{"type": "Lowercase"}] * lowers_first + [own])
    if lowers_first:
        lowers, strips = True, lowers if strips is None else strips
    require("pre_tokenizer", content["pre_tokenizer"], {"type": "BertPreTokenizer"})
    _require_rows(content, CLS_FIRST, ("[CLS]", "[SEP]"), require)
    settings = {
        "do_lower_case": lowers,
        "strip_accents": strips,
        "counts_lines": True,
        "as_tokenizers": True,
    }
    pieces = sorted(model["vocab"], key=model["vocab"].get)
    gaps = {*range(len(pieces))} - {*model["vocab"].values()}
    require("gaps between its ids", sorted(gaps), [])
    two_lines = [piece for piece in pieces if "\n" in piece or piece.endswith("\r")]
    require("pieces of two lines", two_lines, [])
    return "vocab.txt", "".join(f"{piece}\n" for piece in pieces).encode(), settings


def _require_rows(content, layout, special, require):
    """Refuses a post_processor whose rows differ from a `RowLayout`.

    Args:
        content: the file's contents.
        layout: the `RowLayout`.
        special: the token that begins or ends a row, and the token that ends a text.
        require: `_require` for the file.
    """
    processor = content["post_processor"]
    if processor is None or processor["type"] == "BertProcessing":
        return
    cls, sep = (special[0], layout.cls_segment), (special[1], 0)
    single, second = [("A", 0), sep], layout.second_segment
    between = [sep] * (layout.between - 1)
    pair = [*single, *between, ("B", second), (special[1], second)]
    rows = [[*row, cls] if layout.cls_last else [cls, *row] for row in (single, pair)]
    has_segments = layout != ONE_SEGMENT  # else their numbers do not matter
    if not has_segments:
        rows = [[(name, 0) for name, _ in row] for row in rows]
    found = [
        [
            (own["id"], own["type_id"] * has_segments)
            for part in row
            for own in part.values()
        ]
        for row in (processor.get("single", ()), processor.get("pair", ()))
    ]
    require("post_processor", found, rows)


def _read_unigram(content, model, require):
    first = tuple(piece for piece, _ in model["vocab"][: len(deberta.PIECES)])
    is_deberta = first == deberta.PIECES
    file = deberta.FILE if is_deberta else "spiece.model"
    require = functools.partial(require, file=file)
    require("byte_fallback", model.get("byte_fallback", False), False)
    require("pre_tokenizer", content["pre_tokenizer"], _BY_WORDS)
    normalizer = content["normalizer"] or {"type": "Sequence", "normalizers": []}
    is_sequence = normalizer["type"] == "Sequence"
    steps = list(normalizer["normalizers"]) if is_sequence else [normalizer]
    charsmap = b""
    if steps and steps[-1]["type"] == "Precompiled":
        charsmap = base64.b64decode(steps.pop()["precompiled_charsmap"])
    settings = {
        "joins_quotes": steps[:2] == _QUOTES,
        "keep_accents": {"type": "StripAccents"} not in steps,
        "do_lower_case": {"type": "Lowercase"} in steps,
    }
    expected = [
        *(_QUOTES if settings["joins_quotes"] else []),
        *([] if settings["keep_accents"] else _WITHOUT_ACCENTS),
        *([{"type": "Lowercase"}] if settings["do_lower_case"] else []),
    ]
    require("normalizers", steps, expected)
    special = {t["content"] for t in content["added_tokens"] if t["special"]}
    if "<cls>" in special:
        _require_rows(content, CLS_LAST, ("<cls>", "<sep>"), require)
    elif "<s>" in special and "[CLS]" not in special:
        _require_rows(content, TWO_SEPARATORS, ("<s>", "</s>"), require)
    else:
        _require_rows(content, CLS_FIRST, ("[CLS]", "[SEP]"), require)
    data = _sentencepiece_model(model, special, charsmap, require)
    return "spiece.model", data, {**settings, "as_tokenizers": True}


def _sentencepiece_model(model, special, charsmap, require):
    """Serializes a ModelProto for a vocabulary whose words are cut separately."""
    found = sentencepiece_file.ModelProto()
    found.trainer_spec.model_type = sentencepiece_file.UNIGRAM
    found.normalizer_spec.precompiled_charsmap = charsmap
    pieces = [piece for piece, _ in model["vocab"]]
    require("unknown piece", pieces[model["unk_id"]], "<unk>")
    # Without the mark, unknown words would be one.
    require("pieces without", [*{MARK} - {*pieces}], [])
    twice = [
        p for p, count in collections.Counter(pieces).items() if count > 1 or not p
    ]
    require("pieces, empty or twice,", twice, [])
    for index, (piece, score) in enumerate(model["vocab"]):
        type_ = sentencepiece_file.NORMAL
        if index == model["unk_id"]:
            type_ = sentencepiece_file.UNKNOWN
        elif piece in special:
            type_ = sentencepiece_file.CONTROL
        elif MARK in piece[1:]:  # of two words
            type_ = sentencepiece_file.UNUSED
        found.pieces.add(piece=piece, score=score, type=type_)
    return found.SerializeToString()


def _read_byte_bpe(content, model, require):
    require = functools.partial(require, file="vocab.json")
    settings = {key: model[key] for key in _BYTE_BPE.split() if model.get(key)}
    require("model", settings, {})
    normalizer, added = content["normalizer"], content["added_tokens"]
    composes = normalizer == {"type": "NFC"}
    require("normalizer", normalizer, {"type": "NFC"} if composes else None)
    splitter = content["pre_tokenizer"]
    by_words = splitter["type"], splitter.get("use_regex", True)
    require("pre_tokenizer", by_words, ("ByteLevel", True))
    pieces = {token["content"]: token["id"] for token in added}
    if "[CLS]" in pieces and "<s>" not in {**pieces, **model["vocab"]}:
        # ModernBERT's, whose special pieces need not be in the vocabulary.
        model["vocab"] = {**pieces, **model["vocab"]}
        _require_rows(content, ONE_SEGMENT, ("[CLS]", "[SEP]"), require)
    else:
        processor = content["post_processor"] or {"type": "RobertaProcessing"}
        require("post_processor", processor["type"], "RobertaProcessing")
    settings = {
        "do_lower_case": False,
        "add_prefix_space": splitter["add_prefix_space"],
        "composes": composes,
    }
    return HUGGINGFACE_FILE, tokenizer_json(model["vocab"], model["merges"]), settings


_READERS = {
    "WordPiece": _read_wordpiece,
    "Unigram": _read_unigram,
    "BPE": _read_byte_bpe,
}


def save_for_others(tokenizer, directory, form, max_seq_length=None):
    """Writes a tokenizer for the programs of another format.

    Args:
        tokenizer: a `Tokenizer`.
        directory: the folder.
        form: "tf1" or "huggingface".
        max_seq_length: the number of tokens to which those programs cut texts, if any.
    """
    files = {tokenizer.file_name: tokenizer.file_bytes}
    if tokenizer.kind == "sentencepiece":
        files = {_SENTENCEPIECE_NAMES[form]: tokenizer.file_bytes}
        if own := own_file(tokenizer):
            files = dict([own])
    settings = tokenizer.settings()
    if form == "huggingface":
        settings = _their_settings(tokenizer)
        if tokenizer.kind == "wordpiece" and not tokenizer.rules.counts_lines:
            # They count the lines, whatever these hold.
            files = {tokenizer.file_name: official_vocabulary(tokenizer.file_bytes)}
        if tokenizer.kind == "byte_bpe":
            files = tokenizer.two_files()
        if _is_general(tokenizer):
            files = {}
    with ChecksummedFolder(directory) as folder:
        for name, content in files.items():
            folder.write(name, content)
        if form == "huggingface" and not write_whole_file(tokenizer, folder):
            model_type = tokenizer.model_type
            settings["tokenizer_class"] = _THEIR_CLASSES[tokenizer.kind, model_type]
        if max_seq_length and form == "huggingface":
            settings["model_max_length"] = max_seq_length
        folder.write_json(CONFIG_NAME, settings)


def _is_general(tokenizer):
    """Returns whether Hugging Face has no class of its own for a tokenizer."""
    return tokenizer.model_type == "ModernBERT"


def _their_settings(tokenizer):
    """Returns the settings that Hugging Face's tokenizers need."""
    settings = {
        "tokenizer_class": _FAITHFUL_CLASS,
        # Without it, transformers 5 gives ALBERT no segments.
        "model_input_names": ["input_ids", "token_type_ids", "attention_mask"],
        **{
            name.replace("id", "token"): piece
            for name, piece in tokenizer.special_pieces.items()
        },
    }
    if tokenizer.layout.pads_left:
        settings["padding_side"] = "left"
    if tokenizer.kind == "sentencepiece":
        settings["keep_accents"] = tokenizer.keep_accents
        # Of ours alone: theirs always joins them.
        settings["joins_quotes"] = tokenizer.joins_quotes
    settings |= tokenizer.settings()  # the casing has Hugging Face's name
    added = settings.pop("added_tokens", [])
    if tokenizer.layout == ONE_SEGMENT:
        settings["model_input_names"] = ["input_ids", "attention_mask"]
    if added and not _is_general(tokenizer):
        unlike = {"rstrip": False, "single_word": False}
        settings[_ADDED_TOKENS] = {
            # Their slow tokenizers find tokens that are not special in lower case only.
            str(t.pop("id")): {**t, "special": not t["normalized"], **unlike}
            for t in added
        }
    return settings
