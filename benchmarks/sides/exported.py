"""An export in benchmarks.serving: a Predictor with a number of threads.

python -m benchmarks.sides.exported VERSION TEXTS.json THREADS
"""

import json
import sys
import time

import tensorflow as tf

from albert_tf.serving.predictor import Predictor
from benchmarks.measuring.turns import serve

_TRIALS = 3  # as the peer tries each of its settings


def main(version, texts_file, threads):
    """Says how fast it is, then answers requests with times."""
    tf.config.threading.set_intra_op_parallelism_threads(int(threads))
    with open(texts_file, encoding="utf-8") as file:
        requests = json.load(file)
    predictor = Predictor(version)

    def run(request, repeats):
        """Seconds of each pass over the texts of a request."""
        seconds = []
        for _ in range(repeats):
            start = time.perf_counter()
            predictor(request["texts"], batch_size=request["batch_size"])
            seconds.append(time.perf_counter() - start)
        return seconds

    def take_turn(line):
        name, repeats = line.split()
        return run(requests[name], int(repeats))

    tried = {}
    for name, request in requests.items():
        batch = {**request, "texts": request["texts"][: request["batch_size"]]}
        run(batch, 1)
        tried[name] = min(run(batch, _TRIALS))
        run(request, 1)  # rows of every length, so that no turn is their first
    serve(take_turn, tried)


if __name__ == "__main__":
    main(*sys.argv[1:])
