"""Vocabularies in a `tokenizer.json`, the one file of a tokenizer in transformers 5."""

import base64
import json

from albert_tf.errors import UserError
from albert_tf.tokenization import sentencepiece_file
from albert_tf.tokenization.byte_bpe.files import pairs_of
from albert_tf.tokenization.word_starts import MARK

_BERT_NORMALIZER = {"clean_text": True, "handle_chinese_chars": True}
_WORDPIECE = {
    "unk_token": "[UNK]",
    "continuing_subword_prefix": "##",
    "max_input_chars_per_word": 100,
}

_UNIGRAM = {"byte_fallback": False}
_BYTE_BPE = dict.fromkeys(
    (
        *("dropout", "continuing_subword_prefix", "end_of_word_suffix"),
        *("byte_fallback", "ignore_merges"),
    )
)
_QUOTES = [
    {"type": "Replace", "pattern": {"String": quotes}, "content": '"'}
    for quotes in ("``", "''")
]
_WITHOUT_ACCENTS = [{"type": "NFKD"}, {"type": "StripAccents"}]
_BY_WORDS = {
    "type": "Sequence",
    "pretokenizers": [
        {"type": "WhitespaceSplit"},
        {
            "type": "Metaspace",
            "replacement": MARK,
            "prepend_scheme": "always",
            "split": True,
        },
    ],
}


def read_tokenizer_json(file_bytes, path):
    """Reads the vocabulary, and the preparation of texts before it.

    Returns:
        The usual name of the vocabulary's file, its bytes, and a dict of
        "do_lower_case" and the `TextRules`, as `tokenizer_config.json` records them.

    Raises:
        UserError: the file is damaged, or prepares texts as albert_tf cannot.
    """
    try:
        content = json.loads(file_bytes)
        model = content["model"]
        kind = model["type"]
        if kind not in _READERS:
            _refuse(path, f"a model of type {kind!r}", "spiece.model")
        return _READERS[kind](content, model, path)
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
            f"{path} is a damaged tokenizer ({error!r}); copy the file again."
        ) from error


def _read_wordpiece(content, model, path):
    _require(model, _WORDPIECE, "model", "vocab.txt", path)
    normalizer = content["normalizer"]
    expected = {"type": "BertNormalizer", **_BERT_NORMALIZER}
    lowers, strips = normalizer["lowercase"], normalizer["strip_accents"]
    if type(lowers) is not bool:
        raise TypeError(f"lowercase is {lowers!r}")
    _require(normalizer, expected, "normalizer", "vocab.txt", path)
    splitter, expected = content["pre_tokenizer"], {"type": "BertPreTokenizer"}
    _require(splitter, expected, "pre_tokenizer", "vocab.txt", path)
    settings = {
        "do_lower_case": lowers,
        "strip_accents": strips,
        "counts_lines": True,
        "as_tokenizers": True,
    }
    return "vocab.txt", _lines(model["vocab"], path), settings


def _lines(vocabulary, path):
    """Writes the bytes of a `vocab.txt`."""
    pieces = sorted(vocabulary, key=vocabulary.get)
    if [vocabulary[piece] for piece in pieces] != list(range(len(pieces))):
        _refuse(path, "a vocabulary with gaps between its ids", "vocab.txt")
    for piece in pieces:
        if "\n" in piece or piece.endswith("\r"):
            _refuse(path, f"the piece {piece!r} of two lines", "vocab.txt")
    return "".join(f"{piece}\n" for piece in pieces).encode()


def _read_unigram(content, model, path):
    _require(model, _UNIGRAM, "model", "spiece.model", path)
    splitter = content["pre_tokenizer"]
    if splitter != _BY_WORDS:
        found = json.dumps(splitter, ensure_ascii=False)
        _refuse(path, f"the pre_tokenizer {found}", "spiece.model")
    settings, charsmap = _preparation(content["normalizer"], path)
    special = {t["content"] for t in content["added_tokens"] if t["special"]}
    data = _sentencepiece_model(model, special, charsmap, path)
    return "spiece.model", data, {**settings, "as_tokenizers": True}


def _preparation(normalizer, path):
    """Reads the settings of a sequence of normalizers, and the table of the last."""
    steps = list(normalizer["normalizers"])
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
    if steps != expected or normalizer["type"] != "Sequence":
        names = ", ".join(str(step["type"]) for step in normalizer["normalizers"])
        _refuse(path, f"the normalizers {names}", "spiece.model")
    return settings, charsmap


def _sentencepiece_model(model, special, charsmap, path):
    """Serializes a ModelProto of a vocabulary, whose words are cut one by one."""
    found = sentencepiece_file.ModelProto()
    found.trainer_spec.model_type = sentencepiece_file.UNIGRAM
    found.normalizer_spec.precompiled_charsmap = charsmap
    pieces = [piece for piece, _ in model["vocab"]]
    if pieces[model["unk_id"]] != "<unk>":
        _refuse(path, f"the unknown piece {pieces[model['unk_id']]!r}", "spiece.model")
    if MARK not in pieces or len(set(pieces)) < len(pieces) or "" in pieces:
        # Without it, unknown words would be one.
        what = f"a vocabulary without {MARK!r}, or with a piece twice or an empty one"
        _refuse(path, what, "spiece.model")
    for index, (piece, score) in enumerate(model["vocab"]):
        kind = sentencepiece_file.NORMAL
        if index == model["unk_id"]:
            kind = sentencepiece_file.UNKNOWN
        elif piece in special:
            kind = sentencepiece_file.CONTROL
        elif MARK in piece[1:]:  # of two words
            kind = sentencepiece_file.UNUSED
        found.pieces.add(piece=piece, score=score, type=kind)
    return found.SerializeToString()


def _read_byte_bpe(content, model, path):
    found = {key: model.get(key) or None for key in _BYTE_BPE}
    _require(found, _BYTE_BPE, "model", "vocab.json", path)
    if content["normalizer"] is not None:
        found = json.dumps(content["normalizer"])
        _refuse(path, f"the normalizer {found}", "vocab.json")
    splitter = content["pre_tokenizer"]
    kind, uses_regex = splitter["type"], splitter.get("use_regex", True)
    if (kind, uses_regex) != ("ByteLevel", True):
        found = json.dumps(splitter, ensure_ascii=False)
        _refuse(path, f"the pre_tokenizer {found}", "vocab.json")
    processor = content["post_processor"] or {"type": "RobertaProcessing"}
    if processor["type"] != "RobertaProcessing":
        _refuse(path, f"the post_processor {processor['type']}", "vocab.json")
    settings = {
        "do_lower_case": False,
        "add_prefix_space": splitter.get("add_prefix_space", True),
    }
    return "tokenizer.json", pairs_of(model, path).file_bytes(), settings


_READERS = {
    "WordPiece": _read_wordpiece,
    "Unigram": _read_unigram,
    "BPE": _read_byte_bpe,
}


def _require(part, expected, name, file, path):
    """Refuses a part of the file whose entries are not the expected ones."""
    found = {key: part[key] for key in expected}
    if found != expected:
        _refuse(path, f"the {name} {json.dumps(found)}", file)


def _refuse(path, what, file):
    raise UserError(
        f"{path} has {what}, which albert_tf cannot follow exactly; put the {file} "
        "beside it that the model was trained with."
    )
