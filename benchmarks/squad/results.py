"""Gain from pretraining on SQuAD 1.1: pretrained, from scratch, and constants.

  python -m benchmarks.squad.results --data_file=dev-v1.1.json \\
      --model_dirs=wikipedia/pretrained_small --output_dir=squad_results

Cuts a file into articles to learn from and articles to score, fine-tunes each model
directory with `--num_runs` seeds, and a model of the same shape and vocabulary with
random weights likewise: same steps, same flags. `results.md` in --output_dir, printed
at the end, has exact match and F1 (per cent): of the best checkpoint the median, least
and greatest, of the last one the median; and of the best constant answer. Re-running
keeps finished runs; other flags or data need another --output_dir.
"""

import collections
import dataclasses
import itertools
import json
import pathlib

from albert_tf.cli import command_line
from albert_tf.cli.command_line import option
from albert_tf.errors import UserError
from albert_tf.io.files import write_atomically
from albert_tf.tasks.question_answering.questions import read_paragraphs
from albert_tf.tasks.question_answering.questions import read_question_file
from albert_tf.tasks.question_answering.questions import read_squad
from albert_tf.tasks.question_answering.scores import raw_scores
from albert_tf.tasks.question_answering.scores import version_1_figures
from benchmarks import pretraining_gain

_METRICS = ("exact_match", "f1")
_FREQUENT = 30  # answers
_STARTS = (*range(10), 10, 15, 20, 30, 40)  # words
_LENGTHS = (1, 2, 3, 4, 5, 10, 15, 20, 25, 30)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options(pretraining_gain.FineTuningFlags):
    data_file: str = option(
        "File of questions with answers, in the layout of SQuAD 1.1."
    )
    model_dirs: str = option("Directories of pretrained models, separated by commas.")
    output_dir: str = option("Folder to write the runs and the table to.")
    scored_articles: int = option(
        "Number of articles to score; the others are learned from.", 8, minimum=1
    )
    train_step: int = option("Number of training steps in each run.", 2000, minimum=1)
    max_seq_length: int = option(
        "Largest length of a window in tokens.", 128, minimum=5
    )
    doc_stride: int = option(
        "Number of tokens from the start of a window to the start of the next.",
        64,
        minimum=1,
    )
    max_query_length: int = option(
        "Largest number of tokens of a question.", 24, minimum=1
    )


def run(options):
    """Runs the missing runs, then writes and prints the table."""
    learned, scored = _split(options)
    constants = best_constants(read_paragraphs(learned), read_paragraphs(scored))
    rows = {
        metric: [[f"SQuAD, {metric}", "none", f"always {name}", f"{score:.2f}", "", ""]]
        for metric, (name, score) in constants.items()
    }
    flags = {"train_file": learned, "predict_file": scored, "version": 1}
    flags |= options.passed_on()
    flags |= {
        "doc_stride": options.doc_stride,
        "max_query_length": options.max_query_length,
    }
    for model, start, runs in pretraining_gain.compare(
        "run_squad", "squad", options.model_dirs, options.output_dir, flags
    ):
        for metric in _METRICS:
            cells = pretraining_gain.score_cells(runs, metric, 2)
            rows[metric].append([f"SQuAD, {metric}", model, start, *cells])
    pretraining_gain.write_table(options.output_dir, sum(rows.values(), []))


def _split(options):
    """Writes the articles to learn from and those to score; returns both paths."""
    if read_question_file(options.data_file).impossible:
        raise UserError(
            f"{options.data_file} is SQuAD 2.0, whose best constant is no answer; name "
            "a file of SQuAD 1.1."
        )
    articles = read_squad(options.data_file)["data"]
    step = len(articles) // options.scored_articles
    scored = set(range(0, len(articles), step)[: options.scored_articles])
    paths = []
    for name, is_scored in (("learned", False), ("scored", True)):
        chosen = [a for i, a in enumerate(articles) if (i in scored) is is_scored]
        paths.append(pathlib.Path(options.output_dir) / f"{name}.json")
        write_atomically(paths[-1], json.dumps({"data": chosen}))
    return paths


def best_constants(learned, scored):
    """Returns the best of some constant strategies, chosen by their scores themselves.

    They are: one of the most frequent answers, and the words of the paragraph at a
    fixed place.

    Returns:
        `{"exact_match": (the answer, per cent), "f1": …}`.
    """
    answers = collections.Counter(
        answer.text for p in learned for q in p.questions for answer in q.answers
    )
    scored = list(scored)
    questions = [question for p in scored for question in p.questions]
    figures = {
        name: version_1_figures(raw_scores(questions, texts, version=1))
        for name, texts in _strategies(answers, scored)
    }
    best = {}
    for metric in ("exact_match", "f1"):
        name = max(figures, key=lambda name: figures[name][metric])
        best[metric] = name, figures[name][metric]
    return best


def _strategies(answers, paragraphs):
    """Yields (name, answer of each question by id)."""
    for text, _ in answers.most_common(_FREQUENT):
        yield repr(text), {q.id: text for p in paragraphs for q in p.questions}
    for start, length in itertools.product(_STARTS, _LENGTHS):
        end = start + length
        texts = {}
        for paragraph in paragraphs:
            text = " ".join(paragraph.context.split()[start:end])
            texts |= {question.id: text for question in paragraph.questions}
        yield f"words {start + 1} to {end}", texts


if __name__ == "__main__":
    command_line.run(Options, run)
