"""Rules of preparing texts that neither a vocabulary nor its casing tells."""

import dataclasses

from albert_tf.errors import UserError


@dataclasses.dataclass(frozen=True)
class TextRules:
    """Departures from the official preparation of a text.

    `tokenizer_config.json` records them by the names below.

    Attributes:
        joins_quotes: whether two grave accents, or two apostrophes, become one
            quotation mark, before SentencePiece; None: for XLNet's vocabularies only.
        counts_lines: whether the id of a WordPiece is the number of its line, the last
            one of equal lines, and not the number of different lines before it.
        keep_accents: whether accents, vowel signs and other combining characters stay,
            before SentencePiece; None: if the vocabulary's file says so.
        strip_accents: whether WordPiece drops them; None: where it lowers letters.
        as_tokenizers: whether texts are read as by the package tokenizers, and so by
            transformers 5. Letters are lowered one by one (the last sigma of a word
            is one like others). WordPiece drops private characters and takes words of
            more than 100 characters for unknown ones. SentencePiece keeps "1974,"
            whole, drops signs that combine with nothing where accents go, and has its
            user-defined pieces looked for in texts before all else.
        add_prefix_space: whether byte-level BPE puts a space before a text that begins
            with none, so that its first word is one like others.
        truncation_side: "left" if texts that are too long lose their beginning, and
            not their end: "right".
    """

    joins_quotes: bool | None = None
    counts_lines: bool = False
    keep_accents: bool | None = None
    strip_accents: bool | None = None
    as_tokenizers: bool = False
    add_prefix_space: bool = False
    truncation_side: str = "right"

    @property
    def keeps_ends(self):
        """True if texts that are too long keep their end."""
        return self.truncation_side == "left"

    def settings(self):
        """Returns the entries of `tokenizer_config.json`: a dict for JSON."""
        return {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(self)
            if getattr(self, field.name) != field.default
        }


OFFICIAL = TextRules()


def read_rules(settings, path):
    """Reads the rules from the entries of a `tokenizer_config.json`, at `path`.

    Raises:
        UserError: one of them is neither true nor false, or no side.
    """
    names = [field.name for field in dataclasses.fields(TextRules)]
    # Hugging Face writes null for what it leaves open.
    found = {n: settings[n] for n in names if settings.get(n) is not None}
    for name, value in found.items():
        is_side = name == "truncation_side"
        if value not in ("left", "right") if is_side else type(value) is not bool:
            expected = "'left' or 'right'" if is_side else "true or false"
            raise UserError(f"{path} sets {name} to {value!r}, expected {expected}.")
    return TextRules(**found)
