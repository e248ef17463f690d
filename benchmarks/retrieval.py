"""Retrieval on SQuAD: finds the paragraph of each question, by words and vectors.

  python -m benchmarks.retrieval --model_dir=minilm --squad_file=dev-v1.1.json

All distinct paragraphs of the file are searched for --questions of its questions. The
table has recall at 1 and 10 and MRR at 10 of BM25, of vectors, of both, and, with
--reranker, of its order of the first --candidates; and the seconds of each.

With --pairs_file the paragraphs and questions are those of the last sixth of the
articles; the pairs of the others are written there, to train on.
"""

import dataclasses
import tempfile
import time

from albert_tf.cli import command_line
from albert_tf.cli.command_line import option

_K = 10


@dataclasses.dataclass(frozen=True)
class Options:
    """The flags."""

    model_dir: str = option("Model of vectors.")
    squad_file: str = option("Questions in SQuAD's form.")
    reranker: str | None = option("Model that orders the candidates anew.", None)
    pairs_file: str | None = option(
        "File for pairs of other articles than the searched ones: .jsonl.", None
    )
    candidates: int = option("Number of texts that it reads.", 50, minimum=1)
    questions: int = option(
        "Number of questions, spread over the file.", 1000, minimum=1
    )


def pairs_of(articles):
    """Lists the (question, paragraph) pairs of SQuAD's articles."""
    return [
        (own["question"], " ".join(paragraph["context"].split()))
        for article in articles
        for paragraph in article["paragraphs"]
        for own in paragraph["qas"]
    ]


def run(options):
    """Prints the table."""
    from albert_tf import Reranker
    from albert_tf import SearchIndex
    from albert_tf import TextEmbedder
    from albert_tf.io.files import json_text
    from albert_tf.io.files import write_atomically
    from albert_tf.tasks.question_answering.questions import read_squad

    articles = read_squad(options.squad_file)["data"]
    if options.pairs_file:
        first = len(articles) - len(articles) // 6
        others, articles = articles[:first], articles[first:]
        rows = [{"anchor": q, "positive": text} for q, text in pairs_of(others)]
        lines = [json_text(row, indent=None) for row in rows]
        write_atomically(options.pairs_file, "".join(lines))
    pairs = pairs_of(articles)
    texts = [*dict.fromkeys(paragraph for _, paragraph in pairs)]
    pairs = pairs[:: max(len(pairs) // options.questions, 1)][: options.questions]
    queries = [question for question, _ in pairs]
    ways = [
        ("BM25", "words", None),
        ("vectors", "vectors", None),
        ("both", "both", None),
    ]
    if options.reranker:
        ways.append(("both, reranked", "both", Reranker(options.reranker)))
    with tempfile.TemporaryDirectory() as folder:
        embedder = TextEmbedder(options.model_dir)
        index = SearchIndex.build(folder, embedder, texts, words=True)
        print(f"{len(texts)} paragraphs, {len(queries)} questions")
        print(f"{'':16}recall@1  recall@10  MRR@10  seconds")
        for name, by, reranker in ways:
            start = time.perf_counter()
            found = index.search(queries, _K, by, reranker, options.candidates)
            seconds = time.perf_counter() - start
            ranks = [
                [own["text"] for own in results].index(paragraph) + 1
                if paragraph in [own["text"] for own in results]
                else None
                for results, (_, paragraph) in zip(found, pairs, strict=True)
            ]
            print(f"{name:16}{_scores(ranks)}  {seconds:7.1f}")


def _scores(ranks):
    """Formats recall at 1 and 10 and MRR at 10 of ranks; None for not found."""
    first = sum(rank == 1 for rank in ranks) / len(ranks)
    found = sum(rank is not None for rank in ranks) / len(ranks)
    reciprocal = sum(1 / rank for rank in ranks if rank) / len(ranks)
    return f"{first:8.3f}  {found:9.3f}  {reciprocal:6.3f}"


if __name__ == "__main__":
    command_line.run(Options, run)
