"""Time of SQuAD's evaluation in NumPy, and inside the graph that exports hold.

  python -m benchmarks.squad.graph --data_file=dev-v1.1.json \
      --spm_model_file=30k-clean.model

Both cut the questions of a file into windows and rank the answers of equal random
scores; the model between them is left out. Times are CPU seconds of one process with
one thread for each operation, the least of the rounds, and memory is the process's
peak. The answers of both are compared.
"""

import dataclasses
import multiprocessing
import resource
import time

import numpy as np

from albert_tf.cli import command_line
from albert_tf.cli.command_line import option

_BATCH = 64


@dataclasses.dataclass(frozen=True)
class Options:
    data_file: str = option("File of questions in SQuAD's JSON layout.")
    spm_model_file: str = option("SentencePiece model; its .vocab file lies beside it.")
    rounds: int = option("Number of times that each side answers.", 3, minimum=1)


def benchmark(options):
    """Prints CPU seconds and peak memory of both, their ratios and the differences."""
    found = {}
    for side in (_in_numpy, _in_graph):
        # A process of its own, since a peak of memory does not fall.
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            found[side] = pool.apply(_measured, (side, options))
    for side, (seconds, peak, _) in found.items():
        print(f"{side.__name__[1:]}: {seconds:.1f} s, peak {peak:,.0f} MB")
    (ours, _, numpy_answers), (graph, _, graph_answers) = found.values()
    differing = np.sum(np.array(numpy_answers) != np.array(graph_answers))
    print(
        f"The graph takes {graph / ours:.2f} times the CPU time; "
        f"{differing} of {len(numpy_answers)} answers differ."
    )


def _measured(side, options):
    import tensorflow as tf

    from albert_tf.tasks.question_answering.questions import read_paragraphs
    from albert_tf.tokenization.loading import load_tokenizer

    tf.config.threading.set_inter_op_parallelism_threads(1)
    tf.config.threading.set_intra_op_parallelism_threads(1)
    paragraphs = list(read_paragraphs(options.data_file))
    tokenizer = load_tokenizer(options.spm_model_file)
    turns = [side(paragraphs, tokenizer) for _ in range(options.rounds)]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    return min(seconds for seconds, _ in turns), peak, turns[0][1]


def _random_logits():
    """Draws scores of starts and ends, float32 `[2, windows, tokens]`; for both."""
    return np.random.default_rng(0).normal(size=(2, 1 << 14, 384)).astype(np.float32)


def _in_numpy(paragraphs, tokenizer):
    from albert_tf.tasks.question_answering.answers import SpanScores
    from albert_tf.tasks.question_answering.answers import predict
    from albert_tf.tasks.question_answering.windows import Windows
    from albert_tf.tasks.question_answering.windows import WindowSizes
    from albert_tf.tasks.question_answering.windows import windows_of

    logits = _random_logits()
    start = time.process_time()
    windows = Windows.joined(list(windows_of(paragraphs, tokenizer, WindowSizes(), {})))
    logits = logits[:, : len(windows)]
    predictions = predict(windows, SpanScores.of_logits(*logits, 20, windows.lengths))
    return time.process_time() - start, [p.answer() for p in predictions]


def _in_graph(paragraphs, tokenizer):
    import tensorflow as tf

    from albert_tf.tasks.question_answering import in_graph
    from albert_tf.tasks.question_answering.in_graph import WindowFeatures
    from albert_tf.tasks.question_answering.windows import WindowSizes

    windows_of = WindowFeatures(tokenizer, WindowSizes()).windows

    @tf.function(reduce_retracing=True)
    def answered(questions, contexts, logits):
        windows = windows_of(questions, contexts)
        mask = windows.features["input_mask"]
        logits = logits[:, : tf.shape(mask)[0], : tf.shape(mask)[1]]
        beams = in_graph.beams_of_logits(*tf.unstack(logits), mask, 20)
        found = in_graph.answers(windows, beams, contexts, 20, 30, 1)
        return found["answers"][:, 0], tf.shape(mask)[0]

    logits = _random_logits()
    pairs = [(q.text, p.context) for p in paragraphs for q in p.questions]
    start, done, answers = time.process_time(), 0, []
    for first in range(0, len(pairs), _BATCH):
        batch = zip(*pairs[first : first + _BATCH], strict=True)
        found, count = answered(*map(tf.constant, batch), logits[:, done : done + 1024])
        answers += [answer.decode() for answer in found.numpy()]
        done += int(count)
    return time.process_time() - start, answers


if __name__ == "__main__":
    command_line.run(Options, benchmark)
