"""Builds an index of texts, and searches it.

  albert-tf search --index_dir=index --model_dir=vectors --corpus_file=texts.txt --words
  albert-tf search --index_dir=index --model_dir=vectors --query="a good film" \\
      --by=both --reranker=reranker --k=5

With --corpus_file the command writes the index; with --query, or --query_file, it
searches, and prints JSON lines: the query and its results, best first. docs/vectors.md
says more.
"""

import dataclasses

from albert_tf.checkpoints.flags import ReadingFlags
from albert_tf.checkpoints.flags import obeys_reading_flags
from albert_tf.cli.command_line import option
from albert_tf.cli.command_line import run
from albert_tf.errors import UserError
from albert_tf.tasks.similarity import WAYS

_OF_INDEX = ("approximate", "words", "batch_size")
_OF_SEARCH = ("by", "reranker", "candidates", "k")


@dataclasses.dataclass(frozen=True, kw_only=True)
class SearchOptions(ReadingFlags):
    """The flags of `albert-tf search`."""

    index_dir: str = option("Folder of the index.")
    model_dir: str = option(
        "Model of vectors: a model directory, a Hugging Face directory, or "
        "hf://owner/name."
    )
    corpus_file: str | None = option(
        "File of texts to index, one per line; without it, the index is searched.", None
    )
    approximate: bool = option(
        "Search vectors by a graph (HNSW), for millions of texts, instead of exactly.",
        False,
    )
    words: bool = option("Index words, too, for --by=words or both.", False)
    query: str | None = option("Text to search for.", None)
    query_file: str | None = option("File of such texts, one per line.", None)
    by: str = option(
        "What to compare: vectors, words (BM25 of the model's pieces), or both, whose "
        "ranks are fused.",
        WAYS[0],
        WAYS,
    )
    reranker: str | None = option(
        "Model that orders the candidates anew: what albert-tf rank trains, or a "
        "cross-encoder.",
        None,
    )
    candidates: int = option(
        "Number of texts that the reranker reads for a query.", 50, minimum=1
    )
    k: int = option("Number of results of a query.", 10, minimum=1)
    batch_size: int = option("Number of texts to compute at a time.", 32, minimum=1)


@obeys_reading_flags
def search(options):
    """Builds the index, or prints results.

    Raises:
        UserError: flags contradict each other, or files are unreadable.
    """
    given = (options.corpus_file, options.query, options.query_file)
    if sum(value is not None for value in given) != 1:
        raise UserError("Give one of --corpus_file, --query and --query_file.")
    builds = options.corpus_file is not None
    for field in dataclasses.fields(options):
        without_effect = field.name in (_OF_SEARCH if builds else _OF_INDEX)
        if without_effect and getattr(options, field.name) != field.default:
            raise UserError(
                f"--{field.name} has no effect where an index is "
                f"{'built' if builds else 'searched'}; leave it out."
            )
    # Imported here, so that --help does not wait for TensorFlow.
    from albert_tf.io.files import json_text
    from albert_tf.io.text_files import read_lines
    from albert_tf.reranker import Reranker
    from albert_tf.search_index import SearchIndex
    from albert_tf.text_embedder import TextEmbedder

    embedder = TextEmbedder(options.model_dir)
    if builds:
        settings = options.approximate, options.words, options.batch_size
        texts = filter(str.strip, read_lines(options.corpus_file))
        SearchIndex.build(options.index_dir, embedder, texts, *settings)
        return
    index = SearchIndex(options.index_dir, embedder)
    queries = [options.query]
    if options.query_file is not None:
        queries = [*filter(str.strip, read_lines(options.query_file))]
    reranker = options.reranker and Reranker(options.reranker)
    settings = options.k, options.by, reranker or None, options.candidates
    for query, results in zip(queries, index.search(queries, *settings), strict=True):
        print(json_text({"query": query, "results": results}, indent=None), end="")


def main(argv=None):
    """Runs the command."""
    run(SearchOptions, search, argv=argv)
