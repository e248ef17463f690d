"""Vocabularies in a `tokenizer.json`, the one file of a tokenizer in transformers 5."""

import base64
import json

from albert_tf.errors import UserError
from albert_tf.row_layout import CLS_FIRST
from albert_tf.row_layout import CLS_LAST
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
    steps = content["normalizer"]
    steps = list(steps["normalizers"]) if steps["type"] == "Sequence" else [steps]
    # sentence-transformers puts one first for its own do_lower_case.
    lowers_first = steps[0] == {"type": "Lowercase"} and len(steps) > 1
    if len(steps) != 1 + lowers_first or steps[-1]["type"] != "BertNormalizer":
        _refuse(path, f"the normalizers {_types(steps)}", "vocab.txt")
    normalizer, expected = steps[-1], {"type": "BertNormalizer", **_BERT_NORMALIZER}
    lowers, strips = normalizer["lowercase"], normalizer["strip_accents"]
    if type(lowers) is not bool:
        raise TypeError(f"lowercase is {lowers!r}")
    _require(normalizer, expected, "normalizer", "vocab.txt", path)
    if lowers_first:
        lowers, strips = True, lowers if strips is None else strips
    splitter, expected = content["pre_tokenizer"], {"type": "BertPreTokenizer"}
    _require(splitter, expected, "pre_tokenizer", "vocab.txt", path)
    _check_rows(content, CLS_FIRST, ("[CLS]", "[SEP]"), path)
    settings = {
        "do_lower_case": lowers,
        "strip_accents": strips,
        "counts_lines": True,
        "as_tokenizers": True,
    }
    return "vocab.txt", _lines(model["vocab"], path), settings


def _types(steps):
    return ", ".join(str(step["type"]) for step in steps)


def _check_rows(content, layout, special, path):
    """Refuses a post_processor that makes other rows than a `RowLayout`.

    Args:
        content: of the file.
        layout: the `RowLayout`.
        special: the token that begins or ends a row, and the one that ends a text.
        path: the file's name in messages.
    """
    processor = content["post_processor"]
    if processor is None or processor["type"] == "BertProcessing":
        return
    cls, sep = (special[0], layout.cls_segment), (special[1], 0)
    single, second = [("A", 0), sep], layout.second_segment
    pair = [*single, ("B", second), (special[1], second)]
    rows = [[*row, cls] if layout.cls_last else [cls, *row] for row in (single, pair)]
    found = [
        [(own["id"], own["type_id"]) for part in row for own in part.values()]
        for row in (processor.get("single", ()), processor.get("pair", ()))
    ]
    if processor["type"] != "TemplateProcessing" or found != rows:
        shown = json.dumps(processor, ensure_ascii=False)
        _refuse(path, f"the post_processor {shown}", "vocabulary's own file")


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
    if "<cls>" in special:
        _check_rows(content, CLS_LAST, ("<cls>", "<sep>"), path)
    else:
        _check_rows(content, CLS_FIRST, ("[CLS]", "[SEP]"), path)
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
        names = _types(normalizer["normalizers"])
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
