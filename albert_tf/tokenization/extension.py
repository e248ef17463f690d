"""New pieces for a tokenizer, learnt from texts; the old pieces keep their ids.

SentencePiece and WordPiece take them from a unigram model of the texts: first the
characters that the vocabulary lacks, then those of its pieces that save most others in
the texts. A byte-level BPE goes on merging where its own merges end. A text in which no
new piece is found keeps its ids.
"""

import collections
import functools
import heapq
import itertools
import json
import math

from albert_tf.errors import UserError
from albert_tf.tokenization import sentencepiece_file as file
from albert_tf.tokenization.byte_bpe import bytes_of
from albert_tf.tokenization.byte_bpe import tokenizer_json
from albert_tf.tokenization.normalization import is_chinese
from albert_tf.tokenization.normalization import is_punctuation
from albert_tf.tokenization.segmentation import Unigram
from albert_tf.tokenization.segmentation import scores
from albert_tf.tokenization.sentencepiece import ends_number
from albert_tf.tokenization.word_starts import MARK

_INSIDE = "##"


def extension_of(tokenizer):
    """Returns the function that teaches a tokenizer new pieces.

    Its arguments are those of `_extended` after the first.

    Raises:
        UserError: the vocabulary is of a kind, or has added tokens, that cannot grow.
    """
    return functools.partial(_extended, _KINDS[tokenizer.kind](tokenizer))


def _extended(old, texts, count, **training):
    """Teaches a tokenizer new pieces.

    Args:
        old: one of `_KINDS`.
        texts: list of str.
        count: how many new pieces; they are fewer if the texts suggest fewer.
        **training: `character_coverage`, the share of the texts' characters that must
            have pieces, and `num_threads`, of SentencePiece's trainer.

    Returns:
        The new tokenizer, in which the new pieces follow all others; and for each of
        them the list of ids that the old tokenizer has in its place.

    Raises:
        UserError: no new piece would help.
    """
    tokenizer = old.tokenizer
    plain = [part for text in texts for part in _between_added(tokenizer, text)]
    made = old.taught(plain, count, **training)
    new = made.pieces[tokenizer.vocab_size :]
    if not new:
        raise UserError(
            f"The text ({len(texts)} lines) suggests no new piece: the vocabulary has "
            "what occurs often enough; give more text, or keep the model as it is."
        )
    return made, [_joined(old.cut(piece), tokenizer.unk_id) for piece in new]


def _joined(ids, unknown):
    """Returns ids with one for unknown characters in a row, as in a text."""
    return [b for a, b in itertools.pairwise([None, *ids]) if a != b or b != unknown]


def _between_added(tokenizer, text):
    """Lists the parts of a text that are no added tokens."""
    if tokenizer.added is None:
        return [text]
    return [part for _, part in tokenizer.added.split(text)][::2]


class _Proposed:
    """A vocabulary whose new pieces a unigram model of the text proposes."""

    symbols = ()
    start = ""  # of a word, in the names of pieces

    def __init__(self, tokenizer):
        self.tokenizer = tokenizer

    def taught(self, texts, count, **training):
        """Returns the tokenizer with `count` new pieces."""
        words = collections.Counter(w for text in texts for w in self.words(text))
        if not words:
            return self.tokenizer
        size = self.tokenizer.vocab_size + count
        pieces = _whole(words) | _unigram(words, size, self.symbols, training)
        known = self.tokenizer.get_vocab()
        new = {p: s for p, s in self.named(pieces, words).items() if p not in known}
        letters = [p for p in new if len(p.removeprefix(_INSIDE)) == 1]
        letters = _best(letters, new, count)
        lettered = self.with_pieces(letters)
        others = {p: s for p, s in new.items() if p not in letters}
        gains = lettered.saved(others, words)
        useful = _best([p for p in gains if gains[p] > 0], gains, count - len(letters))
        return lettered.with_pieces({p: new[p] for p in useful}).tokenizer

    def saved(self, new, words):
        """Counts the pieces that each new one would save in words with their counts."""
        every, used = self.with_pieces(new), collections.Counter()
        for word, count in words.items():
            for index in every.cut(self.start + word):
                used[every.tokenizer.pieces[index]] += count
        return {piece: used[piece] * (len(self.cut(piece)) - 1) for piece in new}

    def with_pieces(self, new):
        """Returns the vocabulary with new pieces: a dict from piece to score."""
        return type(self)(self.tokenizer.with_file(self.file_with(new)))


def _best(pieces, values, count):
    """Returns the pieces with the highest values, a dict; the first wins a tie."""
    best = sorted(pieces, key=values.get, reverse=True)[:count]
    return {piece: values[piece] for piece in best}


def _whole(words):
    """Returns scores like those of `_unigram` for the letters at the start of words.

    The trainer proposes no piece that occurs in only one of the distinct words.
    """
    found = collections.Counter()
    for word, count in words.items():
        found["".join(itertools.takewhile(_is_of_words, word))] += count
    total = sum(words.values())
    return {MARK + w: math.log(c / total) for w, c in found.items() if w and c > 1}


def _is_of_words(character):
    return not (is_punctuation(character) or character.isdigit())


def _unigram(words, size, symbols, training):
    """Trains a unigram model on words with their counts.

    Returns:
        A dict from piece to score, the logarithm of its share of all pieces.
    """
    try:
        model = file.train(
            (f"{word}\t{count}" for word, count in sorted(words.items())),
            input_format="tsv",
            vocab_size=size,
            hard_vocab_limit=False,
            normalization_rule_name="identity",
            user_defined_symbols=[*symbols],
            **training,
        )
    except (RuntimeError, ValueError) as error:
        raise UserError(
            f"SentencePiece finds no pieces in {len(words)} different words: "
            f"{file.reason_of(error)}"
        ) from error
    pieces = file.ModelProto.FromString(model).pieces
    return {p.piece: p.score for p in pieces if p.type == file.NORMAL}


class _SentencePiece(_Proposed):
    start = MARK

    def __init__(self, tokenizer):
        super().__init__(tokenizer)
        processor, self._model = file.load(tokenizer.file_bytes, "the vocabulary")
        if self._model.trainer_spec.model_type != file.UNIGRAM:
            raise UserError(
                "The SentencePiece model is not a unigram model: new pieces could "
                "change how it cuts texts without them; train a vocabulary of your "
                "own (without --extend)."
            )
        self._scores = scores(self._model)
        self.cut = Unigram(processor, self._model).cut
        is_symbol = file.USER_DEFINED.__eq__
        self.symbols = [p.piece for p in self._model.pieces if is_symbol(p.type)]

    def words(self, text):
        text = self.tokenizer.normalized(self.tokenizer.prepare(text))
        return text.replace(MARK, " ").split()

    def named(self, pieces, words):
        """Leaves pieces out that would take the place of better ones.

        The official code divides a number from the comma behind it; and a space with
        the letters of a whole word could score above that word.
        """
        known = self.tokenizer.get_vocab()
        return {
            piece: score
            for piece, score in pieces.items()
            if not ends_number(piece) and MARK + piece not in known
        }

    def file_with(self, new):
        """Returns the file with new pieces.

        A score is the text's, but above that of the pieces in whose place the new one
        comes, or it would never come; and between the scores of the old pieces, on
        which those of unknown characters and of symbols depend.
        """
        model = file.ModelProto()
        model.CopyFrom(self._model)
        usual = [p.score for p in model.pieces if p.type == file.NORMAL]
        for content in self.tokenizer.pieces[len(model.pieces) :]:
            # An added token. Libraries that find it in a text still prefer its letters;
            # a score of 0 would mean a symbol.
            score = min(usual) * (len(content) + 1)
            model.pieces.add(piece=content, score=score, type=file.UNUSED)
        for piece, score in new.items():
            in_its_place = sum(self._scores[index] for index in self.cut(piece))
            score = max(score, in_its_place + file.EXACT_STEP, min(usual))
            score = math.ceil(score / file.EXACT_STEP) * file.EXACT_STEP
            model.pieces.add(
                piece=piece, score=min(score, max(usual)), type=file.NORMAL
            )
        return model.SerializeToString()


class _WordPiece(_Proposed):
    def __init__(self, tokenizer):
        super().__init__(tokenizer)
        self._added = self._added_lines()

    def words(self, text):
        return self.tokenizer.words(text)

    def cut(self, piece):
        return self.tokenizer.cut(piece)

    def named(self, pieces, words):
        """Maps pieces of the unigram model to their names in `vocab.txt`.

        The longest piece wins, whatever follows it: so that no word becomes unknown,
        every character that may follow must be a piece.
        """
        total = sum(words.values())
        letters = collections.Counter()
        for word, count in words.items():
            letters[word[0]] += count
            letters.update({_INSIDE + letter: count for letter in word[1:]})
        return {
            **{_INSIDE + letter: 0.0 for letter in sorted(self._inner_letters())},
            **{
                letter: math.log(count / total)
                for letter, count in letters.items()
                if letter[-1] in pieces
            },
            **{
                _INSIDE * (piece[0] != MARK) + piece.removeprefix(MARK): score
                for piece, score in pieces.items()
                if len(piece.removeprefix(MARK)) > 1
            },
        }

    def _inner_letters(self):
        """Returns the set of the characters that pieces have within a word."""
        bodies = (
            piece[1:] if piece[:2] != _INSIDE else piece[2:]
            for piece in self.tokenizer.pieces
            # No word has punctuation and other characters.
            if not any(map(is_punctuation, piece.removeprefix(_INSIDE)))
        )
        return {c for body in bodies for c in body if not is_chinese(c)}

    def file_with(self, new):
        lines = self.tokenizer.file_bytes.decode().removesuffix("\n")
        return "\n".join([lines, *self._added, *new, ""]).encode()

    def _added_lines(self):
        """Lists the added tokens that follow the pieces of the file."""
        old = self.tokenizer
        base = type(old)(old.file_bytes, old.do_lower_case, rules=old.rules)
        added = old.pieces[base.vocab_size :]
        for content in added:
            if content.split() != [content]:
                raise UserError(
                    f"The added token {content!r} has white space, which no piece of a "
                    "WordPiece vocabulary can have; take it out of the model's "
                    "vocabulary first."
                )
            if self.words(content) == [content]:
                raise UserError(
                    f"The added token {content!r} would become a piece of longer "
                    "words; take it out of the model's vocabulary first."
                )
        return added


class _ByteBpe:
    def __init__(self, tokenizer):
        self.tokenizer = tokenizer

    def cut(self, piece):
        return self.tokenizer.merges.apply(bytes_of(piece))

    def taught(self, texts, count, **_):
        """Returns the tokenizer with `count` new pieces."""
        old = self.tokenizer
        words = collections.Counter(w for text in texts for w in old.words(text))
        pieces, ids, merges = [*old.pieces], old.get_vocab(), []
        pairs = _Pairs(words)
        while len(pieces) < old.vocab_size + count and (pair := pairs.most_frequent()):
            whole = "".join(pieces[index] for index in pair)
            # A merge to an old piece would change texts without new ones.
            if whole in ids:
                continue
            ids[whole] = len(pieces)
            pieces.append(whole)
            merges.append([pieces[index] for index in pair])
            pairs.merge(pair, ids[whole])
        merges = [*json.loads(old.file_bytes)["model"]["merges"], *merges]
        return old.with_file(tokenizer_json(ids, merges))


class _Pairs:
    """The neighbours in words, by frequency.

    Args:
        words: a Counter of tuples of ids.
    """

    def __init__(self, words):
        self._words = [[*word] for word in words]
        self._of_words = [*words.values()]
        self._counts = collections.Counter()
        self._places = collections.defaultdict(set)  # the words that have a pair
        for place, count in enumerate(self._of_words):
            for pair in itertools.pairwise(self._words[place]):
                self._counts[pair] += count
                self._places[pair].add(place)
        self._heap = [(-count, pair) for pair, count in self._counts.items()]
        heapq.heapify(self._heap)

    def most_frequent(self):
        """Returns a pair that is in the words twice or more, each once; or None."""
        while self._heap:
            count, pair = heapq.heappop(self._heap)
            if -count == self._counts[pair] > 1:
                return pair
            if -count > self._counts[pair] > 1:
                heapq.heappush(self._heap, (-self._counts[pair], pair))
        return None

    def merge(self, pair, whole):
        """Puts the id `whole` in the place of a pair."""
        changed = set()
        for place in self._places.pop(pair):
            count, word = self._of_words[place], self._words[place]
            merged, start = [], 0
            while start < len(word):
                if word[start] != pair[0] or word[start + 1 : start + 2] != [pair[1]]:
                    merged.append(word[start])
                    start += 1
                    continue
                before, behind = merged[-1:], word[start + 2 : start + 3]
                for gone in itertools.pairwise([*before, *pair, *behind]):
                    self._counts[gone] -= count
                for new in itertools.pairwise([*before, whole, *behind]):
                    self._counts[new] += count
                    self._places[new].add(place)
                    changed.add(new)
                merged.append(whole)
                start += 2
            self._words[place] = merged
        for new in changed:
            heapq.heappush(self._heap, (-self._counts[new], new))


_KINDS = {
    "sentencepiece": _SentencePiece,
    "wordpiece": _WordPiece,
    "byte_bpe": _ByteBpe,
}
