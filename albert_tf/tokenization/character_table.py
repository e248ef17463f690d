"""Lets a SentencePiece model prepare texts itself, by its table of characters."""

import io
import itertools
import pathlib
import sys
import tempfile
import unicodedata

import sentencepiece

from albert_tf.tokenization import sentencepiece_file
from albert_tf.tokenization.word_starts import MARK

_NEIGHBOUR = "\u65e5"  # joins no other character
_PAIRED_QUOTES = ("``", "''")
_UNASSIGNED = ("Cn", "Co", "Cs")  # which no table changes


def self_preparing(tokenizer):
    """Makes a model of a `SentencePieceTokenizer` that needs no preparation.

    Its table does to each character what the tokenizer and the model's table do one
    after the other. A table knows no context, so that a last capital sigma becomes an
    ordinary one, and where accents are kept, capital letters may not join theirs.

    Returns:
        The serialized model, bytes.
    """
    model = sentencepiece_file.ModelProto.FromString(tokenizer.file_bytes)
    compiled = _compiled(_rules(tokenizer))
    model.normalizer_spec.precompiled_charsmap = compiled
    return model.SerializeToString(deterministic=True)


def _rules(tokenizer):
    """Returns what each character, and each sequence that is joined, becomes."""

    def read(text):
        # In the middle of a text, a space stays.
        prepared = tokenizer.prepare(f"{_NEIGHBOUR}{text}{_NEIGHBOUR}")
        return tokenizer.normalized(prepared)[1:-1].replace(MARK, " ")

    characters = [
        character
        for character in map(chr, range(1, sys.maxunicode + 1))
        if unicodedata.category(character) not in _UNASSIGNED
    ]
    alone = {character: read(character) for character in characters}
    if tokenizer.keeps_marks():
        del alone[MARK]
    changed = {key: value for key, value in alone.items() if key != value}
    quotes = _PAIRED_QUOTES if tokenizer.joins_quotes else ()
    for joined in (*itertools.chain.from_iterable(map(_parts, characters)), *quotes):
        if (found := read(joined)) != "".join(changed.get(c, c) for c in joined):
            changed[joined] = found
    return changed


def _parts(character):
    """Returns the sequences that compose a character: two parts, and all of them."""
    whole = unicodedata.normalize("NFD", character)
    if len(whole) == 1:
        return ()
    return {unicodedata.normalize("NFC", whole[:-1]) + whole[-1], whole}


def _compiled(rules):
    """Compiles rules to the table of a model, by training one on nothing."""
    lines = ("\t".join(map(_codes, rule)) for rule in sorted(rules.items()))
    writer = io.BytesIO()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "rules.tsv"
        path.write_text("".join(f"{line}\n" for line in lines))
        sentencepiece.SentencePieceTrainer.Train(
            sentence_iterator=iter(["a"]),
            model_writer=writer,
            model_type="char",
            vocab_size=8,
            hard_vocab_limit=False,
            normalization_rule_tsv=str(path),
            minloglevel=2,
        )
    model = sentencepiece_file.ModelProto.FromString(writer.getvalue())
    return model.normalizer_spec.precompiled_charsmap


def _codes(text):
    return " ".join(f"{ord(character):X}" for character in text)
