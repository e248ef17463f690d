"""Trains a SentencePiece vocabulary with ALBERT's special symbols.

  albert-tf vocab --input_file='corpus/*.txt' \\
      --output_prefix=vocab/my_corpus --vocab_size=30000

This writes `vocab/my_corpus.model` (pass this one to the other commands) and the
readable `vocab/my_corpus.vocab`. Accents, vowel signs and joiners stay; with
--like=official the vocabulary reads text as the released English ones do. Use the same
--do_lower_case here and in create_pretraining_data. This command does not train
WordPiece vocabularies: bring a `vocab.txt` (one piece per line, with [PAD], [UNK],
[CLS], [SEP] and [MASK]) and pass it as --vocab_file. With --model_type=byte_bpe it
makes RoBERTa's kind: pass `vocab/my_corpus/vocab.json` as --vocab_file, with
--do_lower_case=false. docs/data.md says more.

  albert-tf vocab --extend=hf://answerdotai/ModernBERT-base \\
      --input_file='corpus/*.txt' --pieces=1000 --output_dir=extended

This adds pieces to the vocabulary of a model, and writes the model with them
(docs/encoders.md).
"""

import collections
import dataclasses
import json
import os
import random
import re
from collections.abc import Sequence
from typing import Any

import sentencepiece
from absl import logging

from albert_tf.cli import command_line
from albert_tf.cli.command_line import altered
from albert_tf.cli.command_line import option
from albert_tf.display.progress import Progress
from albert_tf.errors import UserError
from albert_tf.errors import of_extra
from albert_tf.io.whole_folder import ChecksummedFolder
from albert_tf.io.whole_folder import replacing
from albert_tf.tokenization import sentencepiece_file
from albert_tf.tokenization.byte_bpe import ByteBpeTokenizer
from albert_tf.tokenization.normalization import count_accented
from albert_tf.tokenization.normalization import sentencepiece_text
from albert_tf.tokenization.parallel import available_cores
from albert_tf.tokenization.sentencepiece import KEEPS_ACCENTS
from albert_tf.tokenization.sentencepiece import SentencePieceTokenizer
from albert_tf.tokenization.word_starts import JOINERS
from data_pipeline.text import quality
from data_pipeline.text.corpus import MAX_SEGMENT_BYTES
from data_pipeline.text.corpus import CorpusFlags

_CONTROL_SYMBOLS = ["[CLS]", "[SEP]", "[MASK]"]
_OFFICIAL = "official"
_OFFICIAL_SYMBOLS = ["(", ")", '"', "-", ".", "–", "£", "€"]
# Fields of a comma list; a quotation mark that nothing closes stands for itself.
_FIELDS = re.compile(r'(?:"((?:[^"]|"")+)"|([^,]*))(?:,|$)')
# The official code cuts pieces such as "1," in two, other programs do not.
_DIGIT_AND_COMMA = re.compile(r"(?<=\d)(?=,)")
_CUT = "\uf8ff"  # for private use; SentencePiece gives it a piece of its own
_KEEPING_JOINERS = "nmt_nfkc_joiners"
_REPORT_LINES = 10_000
# Flags that a vocabulary to extend has decided.
_OF_THE_MODEL = {
    *("vocab_size", "model_type", "do_lower_case", "like", "keep_accents"),
    *("normalization", "user_defined_symbols"),
}
_UNLIKE_DEFAULTS = {
    "pad_id": 0,
    "unk_id": 1,
    "bos_id": -1,
    "eos_id": -1,
    "pad_piece": "<pad>",
    "unk_piece": "<unk>",
}
# Flags of spm_train, with the values of every ALBERT vocabulary.
_SPM_TRAIN = {
    **{name: str(value) for name, value in _UNLIKE_DEFAULTS.items()},
    "control_symbols": ",".join(_CONTROL_SYMBOLS),
    "shuffle_input_sentence": "true",
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class TokenizerOptions(CorpusFlags):
    """The flags of `albert-tf vocab`."""

    input_file: str = altered(CorpusFlags, "input_file", aliases=("input",))
    output_prefix: str = option(
        "Path of the vocabulary without its ending: the command writes PREFIX.model "
        "and PREFIX.vocab; with --extend, the folder of the whole model.",
        aliases=("model_prefix", "output_dir"),
    )
    extend: str | None = option(
        "Model whose vocabulary gets new pieces from the text, in any form that "
        "convert reads. The command writes the whole model to --output_dir; all other "
        "pieces keep their ids, and text without new ones its answers.",
        None,
    )
    pieces: int = option(
        "Number of new pieces, with --extend.", 1000, minimum=1, maximum=2**24
    )
    vocab_size: int = option(
        "Number of pieces, special symbols included.",
        30000,
        minimum=1,
        maximum=2**31 - 1,  # SentencePiece's
    )
    model_type: str = option(
        "Method that chooses the pieces. byte_bpe: RoBERTa's byte-level BPE, which "
        "reads text as it is; it writes PREFIX/vocab.json and PREFIX/merges.txt.",
        "unigram",
        ["unigram", "bpe", "char", "byte_bpe"],
    )
    do_lower_case: bool = option("Lower the case of letters before training.", True)
    like: str | None = option(
        "Vocabulary to resemble. official: the released English ones, which drop "
        "accents (--nokeep_accents), read U+200C as a space (--normalization=nmt_nfkc) "
        "and have --user_defined_symbols=official. Each of these flags beats it.",
        None,
        [_OFFICIAL],
    )
    keep_accents: bool | None = option(
        "Keep accents, vowel signs and other combining characters, which the official "
        "code drops whatever the case. The vocabulary remembers it: no other command "
        "has the flag. Without --like, true.",
        None,
    )
    normalization: str | None = option(
        "Normalization of characters by SentencePiece. nmt_nfkc_joiners: by NFKC, with "
        "invisible characters as spaces or dropped, but for the joiners U+200C and "
        "U+200D; nmt_nfkc: the same, with U+200C as a space; nfkc: by NFKC alone; "
        "identity: not at all. The vocabulary holds it. Without --like, "
        "nmt_nfkc_joiners.",
        None,
        [_KEEPING_JOINERS, "nmt_nfkc", "nfkc", "identity"],
    )
    user_defined_symbols: str | None = option(
        "Comma list of texts that are always pieces of their own, wherever they stand;"
        " quotation marks around one with a comma. official: those of the released "
        'vocabularies, ( ) " - . – £ €. Without --like, none.',
        None,
    )
    character_coverage: float = option(
        "Share of all characters in the text that get a piece of their own; 0.9995 "
        "suits Chinese. A byte-level BPE has one for each byte instead.",
        0.99995,
        minimum=0.98,  # SentencePiece's own limits
        maximum=1,
    )
    input_sentence_size: int = option(
        "Number of lines to train on, drawn at random; 0 takes all.",
        1_000_000,
        minimum=0,
    )
    random_seed: int = option("Seed of the drawn lines.", 12345)
    num_threads: int = option(
        "Number of threads that train pieces, but for a byte-level BPE.",
        available_cores(),
        minimum=1,
        maximum=1024,
    )

    @property
    def is_byte_level(self) -> bool:
        """True if the vocabulary is one of bytes, which leaves text as it is."""
        return self.model_type == "byte_bpe"

    @property
    def keeps_accents(self) -> bool:
        """True if accents stay, by the flag or what `like` implies."""
        given = self.keep_accents
        return self.like != _OFFICIAL if given is None else given

    @property
    def normalization_rule(self) -> str:
        """The name of the normalization, by the flag or what `like` implies."""
        usual = "nmt_nfkc" if self.like == _OFFICIAL else _KEEPING_JOINERS
        return self.normalization or usual

    def symbols(self) -> list[str]:
        """Lists the user-defined symbols.

        Raises:
            UserError: a symbol is empty or cannot occur in a prepared text, or the
                vocabulary is one of bytes.
        """
        given = self.user_defined_symbols
        given = self.like if given is None else given
        if given and self.is_byte_level:
            raise UserError(
                "--model_type=byte_bpe has no user-defined symbols; leave --like and "
                "--user_defined_symbols out."
            )
        if not given or given == _OFFICIAL:
            return _OFFICIAL_SYMBOLS if given else []
        found = [_symbol(field) for field in _FIELDS.finditer(given)]
        # A match at the end that is empty follows a field, not a comma.
        found = found if given.endswith(",") else found[:-1]
        for symbol in found:
            prepared = self.prepared(symbol).replace(" ", "")
            if not symbol or symbol != prepared:
                meant = f"write {prepared!r} or " if prepared else ""
                raise UserError(
                    f"--user_defined_symbols={given}: {symbol!r} is in no text as the "
                    f"vocabulary reads it; {meant}leave it out."
                )
        return found

    def prepared(self, text: str) -> str:
        """Prepares a text as the tokenizer of the vocabulary reads it."""
        if self.is_byte_level or self.extend:
            return text
        return sentencepiece_text(text, self.do_lower_case, self.keeps_accents)


def _symbol(field):
    quoted, plain = field.groups()
    return plain if quoted is None else quoted.replace('""', '"')


def train_tokenizer(options: TokenizerOptions) -> dict[str, Any]:
    """Trains the vocabulary that `options` describe and reports its coverage.

    Returns:
        A dict: pieces, lines, characters_per_piece, unknown_rate.

    Raises:
        UserError: no text, too little text for the vocabulary, or output that
            cannot be written.
    """
    _check_extension(options)
    if options.extend:
        return _extend(options)
    symbols = options.symbols()
    if not options.is_byte_level and not os.path.basename(options.output_prefix):
        raise UserError(
            f"--output_prefix={options.output_prefix} names a folder; add the name of "
            "the files, such as mine for mine.model and mine.vocab."
        )
    lines, counts = _sample(options)
    if options.is_byte_level:
        folder = options.output_prefix
        tokenizer, files = _train_byte_bpe(lines, options)
    else:
        folder, name = os.path.split(options.output_prefix)
        model = _train(lines, options, symbols)
        _warn_of_changes(model, counts, options)
        tokenizer = SentencePieceTokenizer(model, options.do_lower_case)
        files = {f"{name}.vocab": _listing(model, tokenizer), f"{name}.model": model}
    with replacing(folder) as new, ChecksummedFolder(new) as written:
        for file, contents in files.items():
            written.write(file, contents)
    report = _report(tokenizer, lines)
    logging.info(
        "%s: %d pieces from %d lines; %.2f characters a piece, %.4f%% unknown",
        options.output_prefix,
        report["pieces"],
        report["lines"],
        report["characters_per_piece"],
        100 * report["unknown_rate"],
    )
    return report


def _extend(options):
    # Imported here: --help does not wait for TensorFlow.
    from data_pipeline.extend_model import extend_model

    training = {
        "character_coverage": options.character_coverage,
        "num_threads": options.num_threads,
    }
    return extend_model(
        options.extend,
        lambda: _sample(options)[0],
        options.pieces,
        options.output_prefix,
        **training,
    )


def _check_extension(options):
    """Refuses flags that would have no effect."""
    for field in dataclasses.fields(options):
        is_changed = getattr(options, field.name) != field.default
        if is_changed and options.extend and field.name in _OF_THE_MODEL:
            raise UserError(
                f"--{field.name}: with --extend, the vocabulary stays as it is but for "
                "--pieces new ones; leave the flag out."
            )
        if is_changed and not options.extend and field.name == "pieces":
            raise UserError(
                f"--pieces={options.pieces} adds pieces to a model's vocabulary: name "
                "the model with --extend, or pass --vocab_size for a new one."
            )


def _sample(options):
    """Draws a uniform sample of the prepared lines (reservoir sampling: one pass).

    Returns:
        A list of str, and the counts of the whole text.

    Raises:
        UserError: there is no text.
    """
    rng = random.Random(options.random_seed)
    size = options.input_sentence_size
    sample = []
    counts = collections.Counter()
    for count, segment in enumerate(_segments(options, counts)):
        line = options.prepared(segment)
        if not size or count < size:
            sample.append(line)
        elif (place := rng.randrange(count + 1)) < size:
            sample[place] = line
    quality.check_encoding(counts, options.input_file, "train on")
    if not sample:
        raise UserError(f"--input_file={options.input_file} holds no text.")
    return sample, counts


def _segments(options, counts):
    files = options.files()
    reader = options.reader(files)
    size = sum(file.size for file in files)
    with Progress(size, "bytes", "reading text") as progress:
        for document in reader.documents(0, 1):
            quality.count_text(document.segments, counts)
            for segment in document.segments:
                counts["accented"] += count_accented(segment)
                for joiner in JOINERS:
                    counts[joiner] += segment.count(joiner)
                yield segment
            progress.update(reader.bytes_read)
    counts.update(reader.counts)


def _warn_of_changes(model, counts, options):
    """Warns of characters of the text that the vocabulary cannot tell apart."""
    if not options.keeps_accents:
        what = f"{quality.ACCENTS}; pass --keep_accents to keep them"
        quality.warn_of_changes(counts["accented"], counts, what)
    normalize = sentencepiece.SentencePieceProcessor(model_proto=model).Normalize
    lost = (joiner for joiner in JOINERS if joiner not in normalize(f"क{joiner}ष"))
    quality.warn_of_changes(
        sum(counts[joiner] for joiner in lost),
        counts,
        "are joiners (U+200C, U+200D) and become spaces, which cut words in two; "
        f"pass --normalization={_KEEPING_JOINERS} to keep them",
    )


def _train(lines, options, symbols):
    """Returns the serialized model."""
    rule, table = options.normalization_rule, None
    texts, cuts = iter(lines), {}
    if rule == _KEEPING_JOINERS:
        # The trainer knows only its own rules: it gets normalized text.
        table, rule = _table_keeping_joiners(), "identity"
        normalizer = sentencepiece.SentencePieceNormalizer(model_proto=table)
        texts = map(normalizer.Normalize, texts)
    if options.model_type != "char":
        texts, cuts = map(_with_cuts, texts), {"pretokenization_delimiter": _CUT}
    try:
        # Lists, not comma-separated strings: in those, `"` would quote a field and
        # swallow the symbols after it.
        model = sentencepiece_file.train(
            texts,
            **cuts,
            vocab_size=options.vocab_size,
            model_type=options.model_type,
            character_coverage=options.character_coverage,
            normalization_rule_name=rule,
            **_UNLIKE_DEFAULTS,
            control_symbols=_CONTROL_SYMBOLS,
            user_defined_symbols=symbols,
            num_threads=options.num_threads,
            max_sentence_length=MAX_SEGMENT_BYTES,
        )
    except (RuntimeError, ValueError) as error:
        # SentencePiece says which --vocab_size would do.
        raise UserError(
            f"SentencePiece cannot make --vocab_size={options.vocab_size} pieces of "
            f"{options.input_file} ({len(lines)} lines): "
            f"{sentencepiece_file.reason_of(error)}"
        ) from error
    if options.like != _OFFICIAL:
        model = sentencepiece_file.for_every_library(model, table)
    return model + (KEEPS_ACCENTS if options.keeps_accents else b"")


def _with_cuts(text):
    """Marks where no piece may reach across: a comma after a digit."""
    return _DIGIT_AND_COMMA.sub(_CUT, text.replace(_CUT, " "))


def _table_keeping_joiners():
    """Makes a model, bytes, whose only use is its table of characters."""
    rule = "nmt_nfkc"
    made = sentencepiece_file.train(
        ["a"], vocab_size=5, model_type="char", normalization_rule_name=rule
    )
    return sentencepiece_file.without_rules(made, JOINERS, _KEEPING_JOINERS)


def _train_byte_bpe(lines, options):
    """Returns the `ByteBpeTokenizer`, and the contents of its files by name."""
    with of_extra("bpe", "--model_type=byte_bpe needs the package tokenizers"):
        import tokenizers
    special = ByteBpeTokenizer.special_pieces
    # In the order of RoBERTa's ids; the mask is the last piece of all.
    first = [special[name] for name in ("cls_id", "pad_id", "sep_id", "unk_id")]
    trained = tokenizers.ByteLevelBPETokenizer()
    size = options.vocab_size
    trained.train_from_iterator(
        lines, size - 1, special_tokens=first, show_progress=False
    )
    model = json.loads(trained.to_str())["model"]
    pieces = model["vocab"]
    pieces[special["mask_id"]] = len(pieces)
    if len(pieces) != size:
        raise UserError(
            f"--vocab_size={size}: {options.input_file} ({len(lines)} lines) makes "
            f"{len(pieces)} pieces, one for each byte and the special ones among them; "
            "pass that number, or more text."
        )
    tokenizer = ByteBpeTokenizer.of(pieces, model["merges"])
    return tokenizer, tokenizer.two_files()


def _listing(model, tokenizer):
    """Lists the pieces and their scores, readable."""
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    return "".join(
        f"{piece}\t{processor.GetScore(index):g}\n"
        for index, piece in enumerate(tokenizer.pieces)
    )


def _report(tokenizer, lines):
    checked = lines[:_REPORT_LINES]
    ids, _ = tokenizer.encode_flat(checked)
    return {
        "pieces": tokenizer.vocab_size,
        "lines": len(lines),
        "characters_per_piece": sum(map(len, checked)) / max(1, len(ids)),
        "unknown_rate": float((ids == tokenizer.unk_id).sum()) / max(1, len(ids)),
    }


def main(argv: Sequence[str] | None = None) -> None:
    """Runs the command."""
    command_line.run(TokenizerOptions, train_tokenizer, _SPM_TRAIN, argv)


if __name__ == "__main__":
    main()
