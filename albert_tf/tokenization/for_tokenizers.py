"""Writes `tokenizer.json`, the file of the package tokenizers, for other libraries.

The file holds a tokenizer whole: rules, vocabulary and rows. The package need not be
installed.
"""

import json
import re
import unicodedata

from absl import logging

from albert_tf.tokenization import deberta
from albert_tf.tokenization import normalization
from albert_tf.tokenization import sentencepiece_file
from albert_tf.tokenization import xlm_roberta
from albert_tf.tokenization.added_tokens import AddedToken
from albert_tf.tokenization.segmentation import scores
from albert_tf.tokenization.word_starts import MARK

FILE = "tokenizer.json"

# The capital sigma is final after a cased letter and before none.
_FINAL_SIGMA = (
    r"[\p{Cased}&&[^\p{Case_Ignorable}]]\p{Case_Ignorable}*\K"
    + normalization.CAPITAL_SIGMA
    + r"(?!\p{Case_Ignorable}*[\p{Cased}&&[^\p{Case_Ignorable}]])"
)
# NFKC turns it into "~", the tables of released models leave it; and what stands for
# it meanwhile, a character without a meaning.
_WIDE_TILDE, _STAND_IN = "\uff5e", "\U000fff5e"
_METASPACE = {"type": "Metaspace", "replacement": MARK, "prepend_scheme": "always"}
_METASPACE |= {"split": True}


_OWN_FILES = {
    "XLM-R": (xlm_roberta.FILE, xlm_roberta.without_fairseq_ids),
    "DeBERTa": (deberta.FILE, deberta.without_mask),
}


def own_file(tokenizer):
    """Returns the SentencePiece file that the class in other libraries reads as we do.

    It is a pair of name and content; None for tokenizers without such a class, and for
    those with new pieces, which follow the mask.
    """
    if tokenizer.model_type not in _OWN_FILES:
        return None
    name, revert = _OWN_FILES[tokenizer.model_type]
    _, model = sentencepiece_file.load(tokenizer.file_bytes, name)
    is_released = model.pieces[-1].piece == tokenizer.special_pieces["mask_id"]
    return (name, revert(tokenizer.file_bytes)) if is_released else None


def write_whole_file(tokenizer, folder):
    """Writes `tokenizer.json` and says for which texts its ids may differ.

    Args:
        tokenizer: the tokenizer.
        folder: an open `ChecksummedFolder`.

    Returns:
        Whether there is such a file: SentencePiece models of words, XLM-R's and
        DeBERTa's have none.
    """
    if own := own_file(tokenizer):
        folder.write(*own)
        return False
    is_modern = tokenizer.model_type == "ModernBERT"
    content = tokenizer.one_file() if is_modern else whole_file(tokenizer)
    if content is None:
        logging.warning(
            "no %s is written: the package tokenizers has no SentencePiece models "
            "that cut texts into words",
            FILE,
        )
        return False
    folder.write(FILE, content)
    cases = _unlike(tokenizer)
    but = f", but for texts with {'; '.join(cases)}" if cases else ""
    logging.info("%s gives the same ids in other libraries%s", FILE, but)
    return True


def whole_file(tokenizer):
    """Makes the `tokenizer.json` of a tokenizer: bytes.

    Returns None for SentencePiece models of words, which the package cannot cut.
    """
    parts = _KINDS[tokenizer.kind](tokenizer)
    if parts is None:
        return None
    content = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": _added_tokens(tokenizer),
        **parts,
    }
    return json.dumps(content, ensure_ascii=False).encode()


def _unlike(tokenizer):
    """Lists what texts have whose ids may differ."""
    if tokenizer.kind == "byte_bpe":
        # Its rows there are those of RoBERTa and ModernBERT.
        return ["a second text"] if tokenizer.layout.second_segment else []
    cases = [f"the name of a special piece, such as {tokenizer.mask_token}"]
    if tokenizer.added and tokenizer.do_lower_case:
        cases.append("a capital sigma beside an added token")
    if tokenizer.kind == "wordpiece":
        return cases
    if tokenizer.normalized("\ufb01") == "fi":
        cases.append("marks that NFKC moves, or joins to one of the letters of \ufb01")
        cases.append("compatibility characters newer than the vocabulary's table")
    if tokenizer.keeps_marks():
        cases.append(f"the character {MARK}")
    proto = sentencepiece_file.ModelProto.FromString(tokenizer.file_bytes)
    if any(p.score / sentencepiece_file.EXACT_STEP % 1 for p in proto.pieces):
        cases.append("words that have two equally good cuts")
    if any(index < len(proto.pieces) for index in tokenizer.added_ids):
        cases.append("another spelling of an added token")
    special = {*tokenizer.all_special_ids}
    if any(map(tokenizer.is_divided, {*range(len(proto.pieces))} - special)):
        cases.append("a number before a comma")
    return cases


def _added_tokens(tokenizer):
    special = {
        piece: AddedToken(piece, index)
        for piece, index in tokenizer.special_ids.items()
    }
    own = tokenizer.added.tokens if tokenizer.added else ()
    found = {**special, **{token.content: token for token in own}}
    return [
        {
            **token._asdict(),
            "special": token.content in special or not token.normalized,
            "rstrip": False,
            "single_word": False,
        }
        for token in sorted(found.values(), key=lambda token: token.id)
    ]


def _rows(tokenizer):
    """Describes rows of one text and of two."""
    layout, pieces = tokenizer.layout, tokenizer.special_pieces
    cls, sep = pieces["cls_id"], pieces["sep_id"]

    def special(piece, segment):
        return {"SpecialToken": {"id": piece, "type_id": segment}}

    second = layout.second_segment
    single = [{"Sequence": {"id": "A", "type_id": 0}}, special(sep, 0)]
    between = [special(sep, second)] * (layout.between - 1)
    pair = [*single, *between, {"Sequence": {"id": "B", "type_id": second}}]
    pair.append(special(sep, second))
    end = special(cls, layout.cls_segment)
    single, pair = (
        [*row, end] if layout.cls_last else [end, *row] for row in (single, pair)
    )
    ids = {cls: tokenizer.cls_id, sep: tokenizer.sep_id}
    return {
        "type": "TemplateProcessing",
        "single": single,
        "pair": pair,
        "special_tokens": {
            piece: {"id": piece, "ids": [index], "tokens": [piece]}
            for piece, index in ids.items()
        },
    }


def _replace(pattern, content):
    return {"type": "Replace", "pattern": {"Regex": pattern}, "content": content}


def _split(pattern):
    split = {"type": "Split", "pattern": {"Regex": pattern}}
    return {**split, "behavior": "Isolated", "invert": False}


def _class_of(characters):
    return "[" + "".join(f"\\x{{{ord(c):x}}}" for c in characters) + "]"


def _lowering(tokenizer):
    """Lists the steps that lower letters."""
    if not tokenizer.do_lower_case:
        return []
    final = [_replace(_FINAL_SIGMA, "\u03c2")]
    return [*([] if tokenizer.rules.as_tokenizers else final), {"type": "Lowercase"}]


def _sentencepiece(tokenizer):
    proto = sentencepiece_file.ModelProto.FromString(tokenizer.file_bytes)
    kind = proto.trainer_spec.model_type
    makers = {
        sentencepiece_file.UNIGRAM: _unigram,
        sentencepiece_file.BPE: _bpe,
        sentencepiece_file.CHAR: _bpe,
    }
    if kind not in makers:
        return None
    cuts = [{"type": "WhitespaceSplit"}, _METASPACE]
    is_symbol = sentencepiece_file.USER_DEFINED.__eq__
    symbols = [piece.piece for piece in proto.pieces if is_symbol(piece.type)]
    if symbols and kind != sentencepiece_file.UNIGRAM:
        longest_first = sorted(symbols, key=len, reverse=True)
        cuts.append(_split("|".join(map(re.escape, longest_first))))
    return {
        "normalizer": {
            "type": "Sequence",
            "normalizers": _sentencepiece_steps(tokenizer),
        },
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": cuts},
        "post_processor": _rows(tokenizer),
        "decoder": _METASPACE,
        "model": makers[kind](tokenizer, proto),
    }


def _sentencepiece_steps(tokenizer):
    """Lists the normalizers that prepare a text like the tokenizer and its model."""
    steps = []
    if tokenizer.joins_quotes:
        steps.append(_replace(normalization.PAIRED_QUOTES, '"'))
    steps.append(_replace(_class_of(normalization.WHITE_SPACE), " "))
    if not tokenizer.keep_accents:
        as_theirs = tokenizer.rules.as_tokenizers
        dropped = _is_any_mark if as_theirs else unicodedata.combining
        marks = normalization.character_class(dropped)
        steps += [{"type": "NFKD"}, _replace(marks, "")]
    return [*steps, *_lowering(tokenizer), *_table_steps(tokenizer)]


def _is_any_mark(character):
    return unicodedata.category(character)[0] == "M"


def _table_steps(tokenizer):
    """Lists the normalizers that do what the model's table of characters does."""
    read = tokenizer.normalized
    steps = []
    if read("\ufb01") == "fi":
        steps = [{"type": "NFKC"}]
        if read(_WIDE_TILDE) == _WIDE_TILDE:
            before, after = _WIDE_TILDE, _STAND_IN
            steps = [_replace(before, after), *steps, _replace(after, before)]
    spaces = [c for c in tokenizer.blank if read(f"a{c}b") == f"a{MARK}b"]
    dropped = [c for c in tokenizer.blank if read(f"a{c}b") == "ab"]
    for characters, content in ((spaces, " "), (dropped, "")):
        if characters:
            steps.append(_replace(_class_of(sorted(characters)), content))
    return steps


def _names(tokenizer, proto):
    """Lists the pieces; one that no text yields has a name that is in none."""
    unseen = (sentencepiece_file.UNUSED, sentencepiece_file.CONTROL)
    kept = {*tokenizer.all_special_ids, *tokenizer.added_ids}
    return [
        f" {index}"
        if index not in kept and (piece.type in unseen or tokenizer.is_divided(index))
        else piece.piece
        for index, piece in enumerate(proto.pieces)
    ]


def _unigram(tokenizer, proto):
    usable = (sentencepiece_file.NORMAL, sentencepiece_file.USER_DEFINED)
    added = tokenizer.added_ids
    numbers = [
        score if piece.type in usable or index in added else 0.0
        for index, (piece, score) in enumerate(
            zip(proto.pieces, scores(proto), strict=True)
        )
    ]
    return {
        "type": "Unigram",
        "unk_id": tokenizer.unk_id,
        "vocab": [*zip(_names(tokenizer, proto), numbers, strict=True)],
        "byte_fallback": proto.trainer_spec.byte_fallback,
    }


def _bpe(tokenizer, proto):
    names = _names(tokenizer, proto)
    ids = {name: index for index, name in enumerate(names)}
    merges = []
    if proto.trainer_spec.model_type == sentencepiece_file.BPE:
        usable = {
            name
            for name, piece in zip(names, proto.pieces, strict=True)
            if piece.type == sentencepiece_file.NORMAL
        }
        merges = [
            (name[:cut], name[cut:])
            for name in sorted(usable, key=lambda n: -proto.pieces[ids[n]].score)
            for cut in range(1, len(name))
            if {name[:cut], name[cut:]} <= usable
        ]
    return {
        "type": "BPE",
        "unk_token": tokenizer.pieces[tokenizer.unk_id],
        "fuse_unk": True,
        "byte_fallback": proto.trainer_spec.byte_fallback,
        "vocab": ids,
        "merges": merges,
    }


def _wordpiece(tokenizer):
    removed = normalization.character_class(tokenizer.is_removed)
    steps = [_replace(removed, ""), *_lowering(tokenizer)]
    if tokenizer.strip_accents:
        accents = normalization.character_class(normalization.is_accent)
        steps += [{"type": "NFD"}, _replace(accents, "")]
    punctuation = normalization.character_class(normalization.is_punctuation)
    cuts = [_split(normalization.CHINESE), {"type": "WhitespaceSplit"}]
    return {
        "normalizer": {"type": "Sequence", "normalizers": steps},
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [*cuts, _split(punctuation)],
        },
        "post_processor": _rows(tokenizer),
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {
            "type": "WordPiece",
            "unk_token": tokenizer.unk_token,
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": tokenizer.max_word_length,
            "vocab": {
                piece: index
                for index, piece in enumerate(tokenizer.distinct_pieces)
                if index not in tokenizer.added_ids or piece == tokenizer.pieces[index]
            },
        },
    }


def _byte_bpe(tokenizer):
    prefix = {"add_prefix_space": tokenizer.rules.add_prefix_space}
    own = json.loads(tokenizer.file_bytes)
    ends = {
        name: [tokenizer.special_pieces[f"{name}_id"], getattr(tokenizer, f"{name}_id")]
        for name in ("sep", "cls")
    }
    return {
        "normalizer": None,
        "pre_tokenizer": {**own["pre_tokenizer"], **prefix},
        "post_processor": {
            "type": "RobertaProcessing",
            "trim_offsets": True,
            **ends,
            **prefix,
        },
        "decoder": own["decoder"],
        "model": own["model"],
    }


_KINDS = {
    "sentencepiece": _sentencepiece,
    "wordpiece": _wordpiece,
    "byte_bpe": _byte_bpe,
}
