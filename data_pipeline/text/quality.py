"""Fit of text and vocabulary: shares, warnings and refusals.

A vocabulary of another language, a wrong encoding or paragraphs taken for sentences
make records that look like any others and teach nothing.
"""

import collections

import numpy as np
from absl import logging

from albert_tf.errors import UserError
from data_pipeline.text import corpus
from data_pipeline.text.formats import WITHOUT_TEXT
from data_pipeline.text.formats import format_of

REPLACEMENT = "\ufffd"
"""Character in decoded text for bytes that are not UTF-8."""

COUNTS = (
    "characters",
    "replaced characters",
    "text tokens",
    "unknown tokens",
    "documents of one sentence",
)
"""The counts of a shard that `shares` needs and nothing else shows."""

_MAX_REPLACED = 0.3  # above this share of replaced characters a text is not used
# Above these shares there is a warning. Chinese classics have 3.4% unknown tokens with
# the vocabulary of BERT, which lacks their quotation marks; English text 0.1% with the
# official one, and 49% of Chinese text are unknown to it.
_MANY_UNKNOWN = 0.05
_MANY_REPLACED = 0.001
_MANY_TRUNCATED = 0.1
_MANY_DOCUMENTS = 0.5
# English text has some 0.05%, French 4%, Russian 1%.
_MANY_CHANGED = 0.002
_REMEDY = {
    "sentencepiece": "train a vocabulary with --keep_accents to keep them",
    "wordpiece": "to keep them, name a folder that holds vocab.txt and a "
    'tokenizer_config.json with {"do_lower_case": true, "strip_accents": false}',
}
# The sample, read before the work begins, takes a second or less.
_NAMED_FILES = 3
_A_LINE = "does each line hold one sentence"
_AN_END = "do documents hold several sentences, each with a period or such at its end"
_SAMPLED_FILES = 16
_SAMPLED_CHARACTERS = 2**20


def shares(counts, objective):
    """Computes the shares of the text of shards that are not as they should be.

    Returns:
        A dict of numbers from 0 to 1: `unknown` tokens of the text's, `replaced`
        characters of all, `truncated` tokens of all that sequences were made of,
        documents with a single sentence, `one_sentence_documents`, and, if there are
        any, tokens of sequences that the one before has, too, `repeated`.
    """
    special = 2 if objective == "none" else 3
    kept = counts["tokens"] - special * counts["sequences"]
    truncated, repeated = counts["tokens truncated"], counts["tokens repeated"]
    return {
        "unknown": _share(counts["unknown tokens"], counts["text tokens"]),
        "replaced": _share(counts["replaced characters"], counts["characters"]),
        "truncated": _share(truncated, truncated + kept),
        "one_sentence_documents": _share(
            counts["documents of one sentence"], counts["documents"]
        ),
        **({"repeated": _share(repeated, kept)} if repeated else {}),
    }


def _share(part, whole):
    return round(part / whole, 6) if whole else 0.0


def count_text(segments, counts):
    """Adds the counts of a document's text for `shares` to `counts`."""
    counts["characters"] += sum(map(len, segments))
    counts["replaced characters"] += sum(s.count(REPLACEMENT) for s in segments)


def count_tokens(ids, unk_id, counts):
    """Adds the counts of tokens, an int array, for `shares` to `counts`."""
    counts["text tokens"] += len(ids)
    counts["unknown tokens"] += int((ids == unk_id).sum())


def check_sample(options, max_unknown, files):
    """Judges a corpus by the beginnings of some files, before hours of work.

    Args:
        options: `RecordFlags`.
        max_unknown: as `refuse`.
        files: list of `corpus.File`.

    Raises:
        UserError: as `refuse`, or a file cannot be read.
    """
    chosen = files[:: -(-len(files) // _SAMPLED_FILES)]
    texts, counts = [], collections.Counter()
    for file in chosen:
        reader = options.reader([file])
        wanted = _SAMPLED_CHARACTERS // len(chosen)
        for document in reader.documents(0, 1):
            texts.extend(document.segments)
            count_text(document.segments, counts)
            wanted -= sum(map(len, document.segments))
            if wanted <= 0:
                break
        counts.update(reader.counts)
    tokenizer = options.tokenizer
    stripped = sum(map(tokenizer.count_stripped, texts))
    warn_of_accents(stripped, counts, _REMEDY.get(tokenizer.kind))
    ids, lengths = tokenizer.encode_flat(texts)
    count_tokens(ids, tokenizer.unk_id, counts)
    refuse(counts, options, max_unknown)
    if options.objective != "permutation_lm":
        cut = np.maximum(lengths - options.max_seq_length, 0).sum()
        _warn_of_cuts(_share(int(cut), len(ids)), options, files, "will be")


def refuse(counts, options, max_unknown):
    """Refuses text that no model can learn from.

    Raises:
        UserError: the share of unknown tokens, or of characters which are not UTF-8,
            exceeds `max_unknown`.
    """
    limit = f"more than --max_unknown={max_unknown:g} allows"
    _refuse_encoding(counts, options.input_file, max_unknown, limit)
    found = shares(counts, options.pair_objective)
    if found["unknown"] > max_unknown:
        raise UserError(
            f"{found['unknown']:.1%} of the tokens of {options.input_file} are unknown "
            f"to {options.vocabulary}, {limit}; pass a vocabulary of the text's "
            "language and casing."
        )


def _refuse_encoding(counts, input_file, max_replaced, limit):
    """Refuses text with a larger share of characters that are not UTF-8."""
    replaced = _share(counts["replaced characters"], counts["characters"])
    if replaced > max_replaced:
        raise UserError(
            f"{replaced:.1%} of the characters of {input_file} are not UTF-8"
            f"{_where(counts, corpus.INVALID, [input_file])}, {limit}; convert the "
            "text, for example with iconv -f GBK -t UTF-8."
        )


def check_encoding(counts, input_file, purpose):
    """Refuses text most of which cannot be read, and warns if some cannot.

    Args:
        counts: dict with the counts of `count_text` and of the `Reader`.
        input_file: where the text is from, for the message.
        purpose: the verb for the use of the text, for the message.

    Raises:
        UserError: too many characters are not UTF-8.
    """
    _refuse_encoding(counts, input_file, _MAX_REPLACED, f"too many to {purpose}")
    _warn_of_encoding(counts)


def _warn_of_encoding(counts):
    """Logs a line if a line, or more than a few characters, are not UTF-8."""
    replaced = _share(counts["replaced characters"], counts["characters"])
    if counts[corpus.INVALID] or replaced > _MANY_REPLACED:
        logging.warning(
            "%.1f%% of the characters stand for bytes that are not UTF-8%s; is the "
            "text in another encoding?",
            100 * replaced,
            _where(counts, corpus.INVALID),
        )


def warn_of_accents(stripped, counts, remedy):
    """Logs a line, with a remedy, if many of the counted characters lose an accent."""
    what = "lose an accent, a vowel sign or another mark, whatever their case: é is "
    what += f"read as e, й as и, が as か; {remedy}"
    _warn_of_changes(stripped, counts, what)


def warn_of_joiners(joiners, counts):
    """Logs a line if many characters are joiners that become spaces."""
    what = "are joiners (U+200C, U+200D) and become spaces, which cut words in two; "
    what += "pass --normalization=nfkc to keep them"
    _warn_of_changes(joiners, counts, what)


def _warn_of_changes(changed, counts, what):
    share = _share(changed, counts["characters"])
    if share > _MANY_CHANGED:
        logging.warning("%.1f%% of the characters %s", 100 * share, what)


def _where(counts, problem, known=()):
    """Names the files with most lines of a problem, in brackets; "" if all known."""
    start = f"{problem} in "
    found = {k.removeprefix(start): n for k, n in counts.items() if k.startswith(start)}
    if not found or list(found) == list(known):
        return ""
    most = sorted(found, key=lambda path: (-found[path], path))[:_NAMED_FILES]
    more = f" and {len(found) - len(most)} more files" if len(found) > len(most) else ""
    return f" ({', '.join(f'{path}: {found[path]} lines' for path in most)}{more})"


def _warn_of_cuts(share, options, files, when):
    """Logs a line if a large share of the tokens is cut off."""
    if share <= _MANY_TRUNCATED:
        return
    advice = "raise it, or split long sentences"
    if _takes_lines(options, files):
        advice = f"{_A_LINE}? (--input_format=paragraphs splits them.)"
    logging.warning(
        "%.1f%% of the tokens %s cut off, because sentences are too long for "
        "--max_seq_length=%d; %s",
        100 * share,
        when,
        options.max_seq_length,
        advice,
    )


def _takes_lines(options, files):
    """Returns whether lines of some files are taken for sentences as they are."""
    formats = {format_of(file.path, options.input_format) for file in files}
    return "lines" in formats


def warn(counts, options, files):
    """Logs a line for each share that is higher than it should be.

    Args:
        counts: dict of the counts of all shards.
        options: `RecordFlags`.
        files: list of `corpus.File`.
    """
    found = shares(counts, options.pair_objective)
    if found["unknown"] > _MANY_UNKNOWN:
        logging.warning(
            "%.1f%% of the tokens are unknown to %s; was it made for other text, or "
            "with another --do_lower_case?",
            100 * found["unknown"],
            options.vocabulary,
        )
    _warn_of_encoding(counts)
    if counts[WITHOUT_TEXT]:
        logging.warning(
            "%d JSON lines without the field %r were left out%s",
            counts[WITHOUT_TEXT],
            options.text_field,
            _where(counts, WITHOUT_TEXT),
        )
    _warn_of_cuts(found["truncated"], options, files, "were")
    lines = _takes_lines(options, files)
    alone = found["one_sentence_documents"]
    if alone > _MANY_DOCUMENTS and options.pair_objective != "none":
        between = ", and do blank lines stand only between documents"
        logging.warning(
            "%.1f%% of the documents hold a single sentence, so the model cannot learn "
            "the order of sentences; %s?",
            100 * alone,
            _A_LINE + between if lines else _AN_END,
        )
    elif counts["pairs cut from one sentence"] > counts["sequences"] / 2:
        logging.warning(
            "most pairs were cut from a single sentence, so their order is easy to "
            "tell; %s?",
            _A_LINE + ", and each document several" if lines else _AN_END,
        )
