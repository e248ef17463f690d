"""Writes a real English corpus from the docstrings of this Python installation.

A fresh machine has no text, but its Python has: the docstrings of the standard
library and of the installed packages are tens of thousands of short technical
documents.

  python -m tools.demo.corpus --output_dir=sample

This writes to that folder:

  corpus.txt                one sentence per line, a blank line between documents
  {train,dev,test}.tsv      `label<TAB>sentence`: which package is this text from?

The command masks package and module names in the labelled texts, so the content
alone tells the label. It removes duplicates before it splits the texts, and puts no
text of dev.tsv or test.tsv into the corpus. The same installed packages give the
same bytes. README.md says what to do with them.
"""

import collections
import dataclasses
import hashlib
import pathlib
import re
import sysconfig

from absl import logging

from albert_tf.cli import command_line
from albert_tf.cli.command_line import option
from albert_tf.display.progress import Progress
from albert_tf.errors import UserError
from albert_tf.io import processes
from albert_tf.io.files import write_atomically
from albert_tf.io.files import write_json
from albert_tf.io.folder_lock import folder_lock
from albert_tf.tokenization.parallel import available_cores
from tools.demo import docstrings

_STANDARD_LIBRARY = "stdlib"
_MIN_SENTENCES = 2
_MIN_WORDS = 12
_IMPORT_ALIASES = ("np", "tf", "pd", "plt", "sp")
_MASK = "name"
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z0-9_]+)*")
_MAX_TEXT_WORDS = 60
_FILES = 32
"""Number of files that a worker reads in one call."""


@dataclasses.dataclass(frozen=True)
class SampleCorpusOptions:
    """Contents and size of the sample corpus."""

    output_dir: str = option("Folder to write corpus.txt and the labelled tables to.")
    num_labels: int = option(
        "Number of packages to tell apart; the command takes the largest ones.",
        8,
        minimum=2,
    )
    max_texts_per_label: int = option(
        "Largest number of labelled texts from one package.", 700, minimum=1
    )
    max_corpus_mb: float = option(
        "Largest size of corpus.txt, in megabytes.", 15.0, minimum=0
    )
    workers: int = option(
        "Number of processes that parse source files; 0 starts one per core.",
        0,
        minimum=0,
    )


def write_sample_corpus(options):
    """Writes the corpus and the labelled tables; see the module's docstring.

    Raises:
        UserError: too few documented packages are installed.
    """
    documents, module_names = _documents(options.workers)
    labels = _largest_packages(documents, options)
    masked = _masked_names(documents, labels, module_names)
    tables, held_back = _labelled_texts(documents, labels, masked, options)
    output_dir = pathlib.Path(options.output_dir)
    with folder_lock(output_dir):
        _write(output_dir, options, tables, labels, documents, held_back)


def _write(output_dir, options, tables, labels, documents, held_back):
    for split, rows in tables.items():
        lines = ["label\tsentence", *(f"{label}\t{text}" for label, text in rows)]
        write_atomically(output_dir / f"{split}.tsv", "\n".join(lines) + "\n")
    kept = [d for d in documents if d not in held_back]
    text, count = _corpus_text(kept, options.max_corpus_mb)
    write_atomically(output_dir / "corpus.txt", text)
    facts = {
        "documents": count,
        "corpus_bytes": len(text.encode()),
        "labels": labels,
        **{f"{split}_rows": len(rows) for split, rows in tables.items()},
    }
    write_json(output_dir / "corpus_info.json", facts)
    logging.info("Sample corpus in %s: %s", output_dir, facts)


def _documents(workers):
    """Returns distinct documents in a fixed order, and the names of all modules."""
    paths = sysconfig.get_paths()
    jobs = []
    for root in (paths["stdlib"], paths["purelib"]):
        for path in docstrings.source_files(pathlib.Path(root)):
            parts = path.relative_to(root).with_suffix("").parts
            package = _STANDARD_LIBRARY if root == paths["stdlib"] else parts[0]
            jobs.append((path, package, parts))
    found = {}
    workers = workers or available_cores()
    calls = [(jobs[i : i + _FILES],) for i in range(0, len(jobs), _FILES)]
    with (
        processes.calls_in_processes(_read, calls, workers) as read,
        Progress(len(jobs), "files", "reading docstrings") as progress,
    ):
        for i, documents in enumerate(read):
            found.update((_key(d.sentences), d) for d in documents.result())
            progress.update(min((i + 1) * _FILES, len(jobs)))
    names = collections.defaultdict(set)
    for _, package, parts in jobs:
        names[package].update(parts)
    return list(found.values()), names


def _read(jobs):
    return [
        document
        for path, package, _ in jobs
        for document in docstrings.read_docstrings(path, package)
        if len(document.sentences) >= _MIN_SENTENCES
        and sum(len(s.split()) for s in document.sentences) >= _MIN_WORDS
    ]


def _key(sentences):
    """Identifies a text: the same words in the same order are the same text."""
    words = re.findall(r"\w+", " ".join(sentences).lower())
    return hashlib.sha256(" ".join(words).encode()).digest()


def _largest_packages(documents, options):
    sizes = collections.Counter(document.package for document in documents)
    labels = sorted(sizes, key=lambda name: (-sizes[name], name))[: options.num_labels]
    if len(labels) < 2:
        raise UserError(
            f"Found docstrings in {len(labels)} package(s), expected at least 2; run "
            "this with the Python that has albert-tf installed."
        )
    return labels


def _masked_names(documents, labels, module_names):
    """Returns names that give a label away: packages, modules of no common word.

    The union is masked in every text, whatever its label: masking only a package's
    own names would make the mask itself the give-away. A module name that the
    texts of half of the labels use ("data", "function") is an ordinary word.
    """
    users = collections.defaultdict(set)
    for document in documents:
        for word in _WORD.findall(" ".join(document.sentences).lower()):
            users[word.strip("_")].add(document.package)
    modules = {
        name.lower().strip("_") for label in labels for name in module_names[label]
    }
    telling = {
        m for m in modules if len(users[m].intersection(labels)) < len(labels) / 2
    }
    return telling | {name.strip("_") for name in (*labels, *_IMPORT_ALIASES)}


def _mask_names(text, names):
    def replace(match):
        parts = match.group().lower().split(".")
        hidden = len(parts) > 1 or parts[0].strip("_") in names
        return _MASK if hidden else match.group()

    return _WORD.sub(replace, text)


def _labelled_texts(documents, labels, masked, options):
    """Returns rows by split, and the documents whose text is in dev or test."""
    by_label = collections.defaultdict(dict)
    seen = set()
    for document in documents:
        if document.package not in labels:
            continue
        words = _mask_names(" ".join(document.sentences), masked).split()
        text = " ".join(words[:_MAX_TEXT_WORDS])
        key = _key([text])
        if len(words) >= _MIN_WORDS and key not in seen:
            seen.add(key)
            by_label[document.package][key] = (text, document)
    tables = {"train": [], "dev": [], "test": []}
    held_back = set()
    for label in labels:
        keys = sorted(by_label[label])[: options.max_texts_per_label]
        for key in keys:
            split = {0: "dev", 1: "test"}.get(key[-1] % 5, "train")
            text, document = by_label[label][key]
            tables[split].append((key, label, text))
            if split != "train":
                held_back.add(document)
    # Sorting by the hash of the text mixes the labels, reproducibly.
    rows = {k: [row[1:] for row in sorted(table)] for k, table in tables.items()}
    return rows, held_back


def _corpus_text(documents, max_megabytes):
    """Joins documents, in an order mixed by their hashes, up to the wanted size."""
    blocks, size = [], 0
    for document in sorted(documents, key=lambda d: _key(d.sentences)):
        block = "\n".join(document.sentences) + "\n"
        size += len(block.encode()) + 1
        if size > max_megabytes * 1e6:
            break
        blocks.append(block)
    return "\n".join(blocks), len(blocks)


def main(argv=None):
    """Runs the command."""
    command_line.run(SampleCorpusOptions, write_sample_corpus, argv=argv)


if __name__ == "__main__":
    main()
