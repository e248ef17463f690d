"""Segmentation: the pieces of a text and their places, with one rule for ties.

A unigram model takes the sequence with the best sum of scores. If two sums are equal
("ee" and "e", or "e" and "ee"), rounding decides, and so does the order of additions.
tensorflow-text, and thus every exported model, adds like sentencepiece up to 0.2.1,
which made the released models; 0.2.2 and later round differently. With these versions,
a search in this module adds in the earlier order, and the library only normalizes.
"""

import array
import itertools
import math

import numpy as np
import sentencepiece

from albert_tf.errors import UserError
from albert_tf.tokenization import sentencepiece_file as file
from albert_tf.tokenization.tokenizer import WordCache
from albert_tf.tokenization.word_starts import MARK

SEGMENTATION = "sentencepiece 0.2.1"
"""The name of the order of additions, in fingerprints of vocabularies."""

_LIBRARY_IS_THE_RULE = sentencepiece.__version__ == "0.2.1"
_UNKNOWN_PENALTY = 10


def cutter(processor, model, source):
    """Returns the segmenter of a `SentencePieceProcessor` and its `ModelProto`.

    Models other than unigram ones (BPE, words, characters) merge in an order that all
    versions of the library share.

    Raises:
        UserError: versions of the library segment by the model `source` differently.
    """
    is_unigram = model.trainer_spec.model_type == file.UNIGRAM
    if is_unigram and not _LIBRARY_IS_THE_RULE:
        return Unigram(processor, model)
    if not is_unigram and any(piece.type == file.UNUSED for piece in model.pieces):
        raise UserError(
            f"{source} has unused pieces, which versions of SentencePiece cut "
            "differently but in unigram models; mark them as normal, or remove them."
        )
    return Library(processor, SEGMENTATION if is_unigram else None)


class Library:
    """Segments texts with the installed library."""

    def __init__(self, processor, segmentation):
        self._processor = processor
        self.segmentation = segmentation

    def rows(self, texts):
        """Returns a list of ids for each of a list of str."""
        return self._processor.Encode(texts, out_type=int, num_threads=1)

    def pieces(self, text):
        """Returns a list of (id, piece); an unknown piece reads as its characters."""
        ids = self._processor.Encode(text, out_type=int)
        pieces = self._processor.Encode(text, out_type=str)
        return list(zip(ids, pieces, strict=True))

    def places(self, text):
        """Finds the pieces of a text and their places.

        Returns:
            A list of (id, start, end), in characters of the text; each piece begins
            where the one before it ends.
        """
        # The library's own objects take four times as long to read.
        answer = self._processor.Encode(text, out_type="serialized_proto")
        pieces = file.SentencePieceText.FromString(answer).pieces
        found = [(piece.id, piece.begin, piece.end) for piece in pieces]
        if text.isascii():
            return found
        begins = (np.frombuffer(text.encode(), np.uint8) & 0xC0) != 0x80
        before = [0, *np.cumsum(begins).tolist()]  # characters that begin before a byte
        return [(index, before[start], before[end]) for index, start, end in found]


class Unigram(Library):
    """Segments texts with a unigram model like sentencepiece 0.2.1.

    Each sum is rounded to float32 when it is stored and, except for an unknown
    character's, compared before rounding. So the sum of everything before a word can
    change how the word is cut: words are cut once, in float64, and again after a sum
    that is large enough to hide the lead of the best cut over the second best.

    Source: `Model::EncodeOptimized` in unigram_model.cc of sentencepiece 0.2.1.
    """

    def __init__(self, processor, model):
        super().__init__(processor, SEGMENTATION)
        self._names = [piece.piece for piece in model.pieces]
        self._scores = scores(model)
        self._unknown = [piece.type for piece in model.pieces].index(file.UNKNOWN)
        self._lengths = [*map(len, self._names)]
        self._lengths[self._unknown] = 1
        self._bytes = None
        if model.trainer_spec.byte_fallback:
            self._bytes = [processor.PieceToId(f"<0x{k:02X}>") for k in range(256)]
        self._ids = {
            piece.piece: index
            for index, piece in enumerate(model.pieces)
            if piece.type in (file.NORMAL, file.USER_DEFINED)
        }
        self._cuts_words = not any(MARK in piece[1:] for piece in self._ids)
        self._unknown_score = self._scores[self._unknown]
        # Beginnings of pieces, too, of two characters or more.
        self._score_of = {
            piece[:end]: -math.inf
            for piece in self._ids
            for end in range(2, len(piece))
        }
        for piece, index in self._ids.items():
            self._score_of[piece] = self._scores[index]
        self._pairs = {
            piece[k : k + 2] for piece in self._ids for k in range(len(piece) - 1)
        }
        self._largest = max(map(abs, self._scores))
        self._known_parts = WordCache(self._cut_part)
        self._known = WordCache(lambda word: self._cut_word(MARK + word))

    def rows(self, texts):
        rows = []
        for text in texts:
            normalized = self._processor.Normalize(text)
            ids = self.cut(normalized)
            if self._unknown in ids:
                ids = [index for index, _, _ in self._whole(normalized, ids)]
            rows.append(ids)
        return rows

    def pieces(self, text):
        normalized = self._processor.Normalize(text)
        return [
            (i, normalized[start:end] if i == self._unknown else self._names[i])
            for i, start, end in self._whole(normalized, self.cut(normalized))
        ]

    def places(self, text):
        normalized, origins = self._processor.Normalize(text, with_offsets=True)
        return [
            (index, origins[start], origins[end])
            for index, start, end in self._whole(normalized, self.cut(normalized))
        ]

    def _whole(self, normalized, ids):
        """Lists (id, start, end) in a normalized text.

        Unknown characters in a row are one piece, or a piece for each of their bytes.
        """
        found, start = [], 0
        for index in ids:
            end = start + self._lengths[index]
            if index != self._unknown:
                found.append((index, start, end))
            elif self._bytes:
                *first, last = normalized[start:end].encode()
                found.extend((self._bytes[byte], start, start) for byte in first)
                found.append((self._bytes[last], start, end))
            elif found and found[-1][0] == index:
                found[-1] = index, found[-1][1], end
            else:
                found.append((index, start, end))
            start = end
        return found

    def cut(self, normalized):
        """Returns the ids of a normalized text, one for each unknown character."""
        if not normalized:
            return []
        first, *words = normalized.split(MARK) if self._cuts_words else [normalized]
        cuts = [*map(self._known.__getitem__, words)]
        if first:
            cuts.insert(0, self._cut_word(first))
        ids, limits = zip(*cuts, strict=True)
        found = [*itertools.chain.from_iterable(ids)]
        if min(limits) <= len(found) * self._largest:
            words = [*filter(None, [first]), *(MARK + word for word in words)]
            ids = self._cut_in_order(words, cuts)
            found = [*itertools.chain.from_iterable(ids)]
        return found

    def _cut_in_order(self, words, cuts):
        """Yields each word's ids, given the sum of the words before it."""
        before = array.array("f", [0])
        for word, (ids, limit) in zip(words, cuts, strict=True):
            if abs(before[0]) >= limit:
                best = before + array.array("f", [-math.inf]) * len(word)
                ids, _ = self._search(word, best)
            for index in ids:
                before[0] += self._scores[index]
            yield ids

    def _cut_word(self, word):
        """Cuts a word at the beginning of a text.

        Returns:
            Its ids, and the least sum before the word that can change them.
        """
        pairs = enumerate(map("".join, itertools.pairwise(word)), start=1)
        cuts = [place for place, pair in pairs if pair not in self._pairs]
        ids, limit = [], math.inf
        for start, end in itertools.pairwise([0, *cuts, len(word)]):
            part, least = self._known_parts[word[start:end]]
            limit = min(limit, least - len(ids) * self._largest)
            ids.extend(part)
        return tuple(ids), limit

    def _cut_part(self, part):
        """Cuts a part of a word, within which pieces may cross characters."""
        ids, lead = self._search(part, [0.0] + [-math.inf] * len(part))
        # Both sums hold a score for each character or fewer, and each addition errs by
        # 2^-24 of the sum; half of the lead is kept for what that leaves out.
        return ids, lead * 2**22 / len(part) - len(part) * self._largest

    def _search(self, word, best):
        """Finds the best cut of a word.

        Args:
            word: str.
            best: the sum before the word, and -inf for each of its characters: a list,
                whose sums keep their bits, or an array that rounds them.

        Returns:
            A tuple of ids, and the lead of their sum over that of the next best cut.
        """
        score_of, size = self._score_of.get, len(word)
        second = [-math.inf] * (size + 1)
        starts = [0] * (size + 1)  # of the last piece of the best cut until here
        for start in range(size):
            here = best[start]
            for end in range(start + 1, size + 1):
                score = score_of(word[start:end])
                if score is not None:
                    candidate = here + score
                elif end == start + 1:
                    candidate = _rounded(here + self._unknown_score)
                else:
                    break
                if candidate > best[end]:
                    second[end] = best[end]
                    best[end] = candidate
                    starts[end] = start
                elif candidate > second[end]:
                    second[end] = candidate
        ids, lead, end = [], math.inf, size
        while end:
            lead = min(lead, best[end] - second[end])
            start = starts[end]
            ids.append(self._ids.get(word[start:end], self._unknown))
            end = start
        return tuple(reversed(ids)), lead


def _rounded(number):
    return array.array("f", [number])[0]


def scores(model):
    """Lists the scores of a `ModelProto`'s pieces, as the search adds them."""
    usual = [piece.score for piece in model.pieces if piece.type == file.NORMAL]
    limits = np.finfo(np.float32)
    least = np.float32(min(usual, default=limits.max))
    largest = np.float32(max([*usual, limits.tiny]))

    def score(piece):
        if piece.type == file.UNKNOWN:
            return float(least - np.float32(_UNKNOWN_PENALTY))
        if piece.type == file.USER_DEFINED:
            return float(np.float32(len(piece.piece.encode())) * largest) - 0.1
        return piece.score

    return [*map(score, model.pieces)]
