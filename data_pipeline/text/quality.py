"""Fit of text and vocabulary: shares, warnings and refusals.

A vocabulary of another language, a wrong encoding or paragraphs taken for sentences
make records that look like any others and teach nothing.
"""

import collections

import numpy as np
from absl import logging

from albert_tf.errors import UserError
from data_pipeline.text import corpus
from data_pipeline.text.corpus import WITHOUT_TEXT

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
ACCENTS = (
    "lose an accent, a vowel sign or another mark, whatever their case: é is read as "
    "e, й as и, が as か"
)
_REMEDY = {
    "sentencepiece": "train a vocabulary with --keep_accents to keep them",
    "wordpiece": "to keep them, name a folder that holds vocab.txt and a "
    'tokenizer_config.json with {"do_lower_case": true, "strip_accents": false}',
}
# The sample, read before the work begins, takes a second or less.
_SAMPLED_FILES = 16
_SAMPLED_CHARACTERS = 2**20


def shares(counts, objective):
    """Computes the shares of a text that are too bad to learn from.

    Returns:
        A dict of numbers from 0 to 1: the `unknown` tokens, the `replaced` characters,
        the `truncated` tokens, the `one_sentence_documents` and, if there are any, the
        `repeated` tokens, which the sequence before holds as well.
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


def check_sample(options, files):
    """Judges a corpus by the beginnings of some files, before hours of work.

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
    warn_of_changes(stripped, counts, f"{ACCENTS}; {_REMEDY.get(tokenizer.kind)}")
    ids, lengths = tokenizer.encode_flat(texts)
    count_tokens(ids, tokenizer.unk_id, counts)
    refuse(counts, options)
    if options.objective == "masked_lm" and not options.break_sentences:
        cut = np.maximum(lengths - options.max_seq_length, 0).sum()
        _warn_of_cuts(_share(int(cut), len(ids)), options, "will be")


def refuse(counts, options):
    """Refuses text that no model can learn from.

    Raises:
        UserError: the share of unknown tokens, or of characters which are not UTF-8,
            exceeds `--max_unknown`.
    """
    max_unknown = options.max_unknown
    limit = f"more than --max_unknown={max_unknown:g} allows"
    _refuse_encoding(counts, options.input_file, max_unknown, limit)
    unknown = shares(counts, options.pair_objective)["unknown"]
    if unknown > max_unknown:
        raise UserError(
            f"{unknown:.1%} of the tokens of {options.input_file} are unknown "
            f"to {options.vocabulary}, {limit}; pass a vocabulary of the text's "
            "language and casing."
        )


def check_encoding(counts, input_file, purpose):
    """Refuses text with many characters that are not UTF-8, and warns of some.

    Raises:
        UserError: these are more than 30%; too many to do what `purpose` says.
    """
    _refuse_encoding(counts, input_file, _MAX_REPLACED, f"too many to {purpose}")
    _warn_of_encoding(counts)


def _refuse_encoding(counts, input_file, most, limit):
    replaced = _share(counts["replaced characters"], counts["characters"])
    if replaced > most:
        raise UserError(
            f"{replaced:.1%} of the characters of {input_file} are not UTF-8"
            f"{_where(counts, corpus.INVALID, input_file)}, {limit}; convert the text, "
            "for example with iconv -f GBK -t UTF-8."
        )


def _warn_of_encoding(counts):
    replaced = _share(counts["replaced characters"], counts["characters"])
    if counts[corpus.INVALID] or replaced > _MANY_REPLACED:
        logging.warning(
            "%.1f%% of the characters stand for bytes that are not UTF-8%s; is the "
            "text in another encoding?",
            100 * replaced,
            _where(counts, corpus.INVALID),
        )


def warn_of_changes(changed, counts, what):
    """Warns if many of the counted characters are changed; `what` says how."""
    share = _share(changed, counts["characters"])
    if share > _MANY_CHANGED:
        logging.warning("%.1f%% of the characters %s", 100 * share, what)


def _where(counts, problem, known=""):
    """Names the file with the most lines of a problem, in brackets, unless known."""
    start = f"{problem} in "
    found = {key: n for key, n in counts.items() if key.startswith(start)}
    worst = max(found, key=found.get, default=start).removeprefix(start)
    return f" (most in {worst})" if worst not in ("", known) else ""


def _warn_of_cuts(share, options, when):
    """Warns if a large share of the tokens is cut off."""
    if share > _MANY_TRUNCATED:
        logging.warning(
            "%.1f%% of the tokens %s cut off, because sentences are too long for "
            "--max_seq_length=%d; raise it, or split long sentences, as "
            "--input_format=paragraphs does with lines",
            100 * share,
            when,
            options.max_seq_length,
        )


def warn(counts, options):
    """Warns of each share that is higher than it should be, given all counts."""
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
    _warn_of_cuts(found["truncated"], options, "were")
    alone = found["one_sentence_documents"] > _MANY_DOCUMENTS
    if options.pair_objective != "none" and (
        alone or counts["pairs cut from one sentence"] > counts["sequences"] / 2
    ):
        logging.warning(
            "most %s a single sentence, so the model learns little of the order of "
            "sentences; does each line hold one sentence, and each document several?",
            "documents hold" if alone else "pairs were cut from",
        )
