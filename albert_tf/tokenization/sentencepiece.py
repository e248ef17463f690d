"""SentencePiece with the official preprocessing: ALBERT, XLNet, XLM-R and DeBERTa."""

import dataclasses
import functools
import unicodedata

import numpy as np

from albert_tf.row_layout import CLS_LAST
from albert_tf.row_layout import TWO_SEPARATORS
from albert_tf.tokenization import deberta
from albert_tf.tokenization import normalization
from albert_tf.tokenization import segmentation
from albert_tf.tokenization import sentencepiece_file
from albert_tf.tokenization.features import flat_ids
from albert_tf.tokenization.tokenizer import OFFICIAL
from albert_tf.tokenization.tokenizer import TextRules
from albert_tf.tokenization.tokenizer import Tokenizer
from albert_tf.tokenization.tokenizer import by_role
from albert_tf.tokenization.word_starts import MARK
from albert_tf.tokenization.word_starts import starts_officially
from albert_tf.tokenization.word_starts import starts_word

_XLNET_PIECES = by_role("<pad>", "<unk>", "<cls>", "<sep>", "<mask>")
_XLM_PIECES = by_role("<pad>", "<unk>", "<s>", "</s>", "<mask>")
_DEBERTA_PIECES = by_role("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
KEEPS_ACCENTS = b"\xc2\x0c\x17albert_tf: keep_accents"
"""A mark at the end of a model file whose vocabulary is for texts with accents. It is a
field in ModelProto's extension range, which other programs skip."""
# Texts encoded at a time: few enough that their arrays stay in the cache.
_SLICE = 256
_NONE = np.zeros(0, np.int32)


class SentencePieceTokenizer(Tokenizer):
    """The tokenizer of the released English models, of XLNet, XLM-R and DeBERTa.

    Unlike plain SentencePiece, it first collapses white space, strips accents (unless
    its file or its rules keep them) and lowers letters, and it splits a piece such as
    "2000," into "2000" and ",". The special pieces in the vocabulary select the row
    layout: `[CLS]` is ALBERT's, `<cls>` XLNet's, whose rows end with it, `<s>` XLM-R's
    and `[PAD]` DeBERTa's, which keep accents and numbers.

    Args:
        file_bytes: a serialized SentencePiece model.
        do_lower_case: whether to lower letters; None follows the released models, which
            do, except XLNet's, XLM-R's and DeBERTa's.
        source: the file's name in error messages.
        rules: its `TextRules`.

    Raises:
        UserError: not a SentencePiece model, a damaged one, or a special piece is
            missing.

    Source: `preprocess_text` and `encode_pieces` in tokenization.py of
    google-research/albert; prepro_utils.py of zihangdai/xlnet does the same to a text.
    """

    kind, file_name = "sentencepiece", "spiece.model"
    special_pieces = by_role("<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]")

    def __init__(self, file_bytes, do_lower_case=None, source="given", rules=OFFICIAL):
        self._processor, model = sentencepiece_file.load(file_bytes, source)
        self._cutter = segmentation.cutter(self._processor, model, source)
        self.segmentation = self._cutter.segmentation
        pieces = [piece.piece for piece in model.pieces]
        if _XLNET_PIECES["cls_id"] in pieces and "[CLS]" not in pieces:
            self.special_pieces, self.model_type = _XLNET_PIECES, "XLNet"
            self.usual_layout = CLS_LAST
        is_xlm = not {"[CLS]", "<cls>"} & {*pieces} and {*_XLM_PIECES.values()} <= {
            *pieces
        }
        if is_xlm:
            self.special_pieces, self.model_type = _XLM_PIECES, "XLM-R"
            self.usual_layout = TWO_SEPARATORS
        is_deberta = (*pieces[: len(deberta.PIECES)],) == deberta.PIECES
        if is_deberta:
            self.special_pieces, self.model_type = _DEBERTA_PIECES, "DeBERTa"
        is_plain = is_xlm or is_deberta
        if is_plain:
            rules = dataclasses.replace(rules, as_tokenizers=True, joins_quotes=None)
        is_xlnet = self.model_type == "XLNet"  # whose official code joins quotes
        lowers = not (is_xlnet or is_plain)
        do_lower_case = lowers if do_lower_case is None else do_lower_case
        joins, keeps = rules.joins_quotes, rules.keep_accents
        usually_keeps = is_plain or file_bytes.endswith(KEEPS_ACCENTS)
        self.joins_quotes = is_xlnet if joins is None else joins
        self.keep_accents = usually_keeps if keeps is None else keeps
        # The defaults of `TextRules` are the behaviour of older versions.
        is_official = not (self.keep_accents or usually_keeps)
        rules = TextRules(
            joins_quotes=None if self.joins_quotes == is_xlnet else self.joins_quotes,
            keep_accents=None if is_official else self.keep_accents,
            as_tokenizers=rules.as_tokenizers,
            truncation_side=rules.truncation_side,
        )
        super().__init__(file_bytes, pieces, do_lower_case, source, rules)
        self._preparation = do_lower_case, self.keep_accents, rules.as_tokenizers
        self._tabulate_replacements()
        self.blank = frozenset(filter(self._is_blank, _perhaps_blank()))

    def _is_blank(self, character):
        """Returns whether the model reads a character as a space, or not at all."""
        found = self._processor.Normalize(f"a{character}b")
        return found.replace(MARK, "").replace(" ", "") == "ab"

    def _tabulate_replacements(self):
        """Builds a table of replacements for the processor's ids.

        Almost every id stays itself; the id of "2000," becomes two; and special ids,
        which raw text can produce in some models, become unknown.
        """
        replaced = {}
        for index, piece in enumerate(self.pieces):
            if ends_number(piece) and not self.rules.as_tokenizers:
                replaced[index] = self._split_comma(piece)
        for index in (self.pad_id, self.cls_id, self.sep_id, self.mask_id):
            replaced[index] = [self.pieces[self.unk_id]]
        self._replaced = replaced
        shape = self.vocab_size, max(map(len, replaced.values()))
        self.replacement_lengths = np.zeros(shape, np.int32)
        self.replacement_counts = np.ones(self.vocab_size, np.int32)
        self.replacements = np.zeros(shape, np.int32)
        self.replacements[:, 0] = np.arange(self.vocab_size)
        self._is_replaced = np.zeros(self.vocab_size, np.bool_)
        self._is_replaced[list(replaced)] = True
        for index, parts in replaced.items():
            ids = [self._processor.PieceToId(part) for part in parts]
            self.replacement_counts[index] = len(ids)
            self.replacements[index, : len(ids)] = ids
            self.replacement_lengths[index, : len(ids)] = _visible_lengths(parts)

    def _split_comma(self, piece):
        text = piece[:-1].replace(MARK, "")
        parts = [part for _, part in self._cutter.pieces(text)]
        if piece[0] != MARK and parts[0][0] == MARK:
            parts = [part for part in [parts[0][1:], *parts[1:]] if part]
        return [*parts, ","]

    def normalized(self, text):
        """Returns a prepared text as the model's table of characters rewrites it."""
        return self._processor.Normalize(text).removeprefix(MARK)

    def keeps_marks(self):
        """Returns whether the character `MARK` in a text is more than a space."""
        return self.normalized(f"a {MARK}b") != f"a{MARK}b"

    def is_divided(self, index):
        """Returns whether other ids take the place of a piece that the model finds."""
        return index in self._replaced

    def prepare(self, text):
        if self.joins_quotes:
            text = normalization.join_quotes(text)
        return normalization.sentencepiece_text(text, *self._preparation)

    def count_stripped(self, text):
        if self.keep_accents:
            return 0
        return normalization.count_accented(text)

    def is_reserved(self, piece):
        if self.rules.as_tokenizers:
            return super().is_reserved(piece)
        # Special pieces, and user-defined ones, which the model itself looks for, have
        # this score.
        index = self._ids.get(piece)
        return index is not None and self._processor.GetScore(index) == 0

    def join(self, pieces):
        return self._processor.DecodePieces(pieces).strip()

    def _tokenize(self, text):
        found = []
        for index, piece in self._cutter.pieces(self.prepare(text)):
            found.extend(self._replaced.get(index, [piece]))
        return found

    def _encode_flat(self, texts):
        starts = range(0, len(texts), _SLICE)
        parts = [self._encode_slice(texts[k : k + _SLICE]) for k in starts]
        ids = np.concatenate([ids for ids, _ in parts] or [_NONE])
        lengths = np.concatenate([lengths for _, lengths in parts] or [_NONE])
        return ids, lengths

    def _encode_slice(self, texts):
        rows = self._cutter.rows([self.prepare(text) for text in texts])
        ids, lengths = flat_ids(rows)
        places = np.flatnonzero(self._is_replaced[ids])
        if not len(places):
            return ids, lengths
        old = ids[places]
        counts = self.replacement_counts[old]
        row = np.searchsorted(np.cumsum(lengths), places, side="right")
        np.add.at(lengths, row, counts - 1)
        repeats = np.ones_like(ids)
        repeats[places] = counts
        ids = np.repeat(ids, repeats)
        # Earlier replacements have moved each place by what they added.
        places = places + np.cumsum(counts - 1) - (counts - 1)
        for part in range(self.replacements.shape[1]):
            has_part = counts > part
            ids[places[has_part] + part] = self.replacements[old[has_part], part]
        return ids, lengths

    def _encode_with_offsets(self, text):
        joined = normalization.join_quotes(text) if self.joins_quotes else text
        prepared, origins = normalization.sentencepiece_text_with_spans(
            joined, *self._preparation
        )
        if len(joined) < len(text):
            places = normalization.joined_places(text)
            origins = [(places[start], places[end]) for start, end in origins]
        ids = []
        spans = []
        for index, start, end in self._cutter.places(prepared):
            while start < end and prepared[start] in self.blank:
                start += 1
            while start < end and prepared[end - 1] in self.blank:
                end -= 1
            parts = self._replaced.get(index)
            if parts is None:
                ids.append(index)
                spans.append(_original_span(origins, start, end))
                continue
            count = self.replacement_counts[index]
            ids.extend(self.replacements[index, :count].tolist())
            for part_start, part_end in _part_spans(parts, start, end):
                spans.append(_original_span(origins, part_start, part_end))
        return ids, spans

    def _starts_word(self, piece, official):
        rule = starts_officially if official else starts_word
        return rule(piece, self.model_type == "XLNet")


def ends_number(piece):
    """Returns whether a piece is one that the official code divides, like "2000,"."""
    return len(piece) > 1 and piece[-1] == "," and piece[-2].isdigit()


@functools.cache
def _perhaps_blank():
    """Lists characters that SentencePiece may turn into a space or drop."""
    invisible = ("Cc", "Cf", "Zs", "Zl", "Zp")
    characters = map(chr, range(1, 0x10000))
    found = [c for c in characters if unicodedata.category(c) in invisible]
    return [*found, "\ufffd", MARK]


def _visible_lengths(parts):
    return [len(part.lstrip(MARK)) for part in parts]


def _part_spans(parts, start, end):
    """Divides a piece's span among its parts."""
    lengths = _visible_lengths(parts)
    if sum(lengths) != end - start:
        return [(start, end)] * len(parts)
    ends = np.cumsum([start, *lengths]).tolist()
    return list(zip(ends[:-1], ends[1:], strict=True))


def _original_span(origins, start, end):
    if start < end:
        return origins[start][0], origins[end - 1][1]
    # No character belongs to this piece alone, so its span is empty.
    position = origins[start][0] if start < len(origins) else origins[-1][1]
    return position, position
