"""An export in benchmarks.serving: a Predictor with a number of threads.

The setting has version, texts (a JSON file), cores and threads, which are TensorFlow's:
other runtimes take all the cores.
"""

import json
import os

import tensorflow as tf

from albert_tf.serving.predictor import Predictor
from benchmarks.measuring import turns


def main(setting):
    """Says how fast it is, then answers requests with times."""
    os.sched_setaffinity(0, range(setting["cores"]))
    tf.config.threading.set_intra_op_parallelism_threads(setting["threads"])
    with open(setting["texts"], encoding="utf-8") as file:
        requests = json.load(file)
    predictor = Predictor(setting["version"])

    def answer(request):
        predictor(request["texts"], batch_size=request["batch_size"])

    def take_turn(line):
        name, repeats = line.split()
        return turns.seconds_of_passes(lambda: answer(requests[name]), int(repeats))

    tried = {}
    for name, request in requests.items():
        batch = {**request, "texts": request["texts"][: request["batch_size"]]}
        answer(batch)
        tried[name] = turns.seconds_to_choose_by(lambda batch=batch: answer(batch))
        answer(request)  # rows of every length, so that no turn is their first
    return take_turn, tried
