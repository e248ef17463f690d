"""Processes that take turns, so that each has the machine to itself while it is timed.

Needs only the standard library and NumPy: the peers run in environments of their own.
"""

import contextlib
import csv
import functools
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time

import numpy as np

# Lets the threads of the last process fall asleep before the next starts its clock:
# libraries keep them spinning for some milliseconds after a step.
_PAUSE = 0.2


def command_of(python, side, setting):
    """Returns the command that starts a module of `benchmarks.sides`."""
    return [python, "-m", "benchmarks.sides", side, json.dumps(setting)]


class Player:
    """A process that waits for its turn.

    Args:
        command: the command to start; it must call `serve`.
        environment: dict of variables for it, beside this process's.
    """

    def __init__(self, command, environment=None):
        self.process = subprocess.Popen(
            command,
            env={**os.environ, **(environment or {})},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.details = self._answer()

    def turn(self, request=""):
        """Plays one turn, after a pause; returns its answer."""
        time.sleep(_PAUSE)
        self.process.stdin.write(f"{request}\n")
        self.process.stdin.flush()
        return self._answer()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.communicate()  # Ends its input, and so the process.

    def _answer(self):
        line = self.process.stdout.readline()
        if not line:
            # Imported here: the peers have no albert_tf.
            from albert_tf.errors import UserError

            self.process.communicate()
            raise UserError(
                f"{' '.join(self.process.args[:4])} ended with status "
                f"{self.process.returncode}; its messages are above."
            )
        return json.loads(line)


class Fastest(contextlib.ExitStack):
    """Players with different settings; of each request, the fastest takes the turns.

    Args:
        commands: by setting, the command of a player. A request begins with a word;
            the player's details say how many seconds it takes for each.

    Attributes:
        details: for each word, the setting that is fastest.
    """

    def __init__(self, commands):
        super().__init__()
        players = {k: self.enter_context(Player(v)) for k, v in commands.items()}
        self._players = players
        words = next(iter(players.values())).details
        self.details = {
            word: min(players, key=lambda name, word=word: players[name].details[word])
            for word in words
        }

    def turn(self, request):
        """Plays one turn, as a `Player` does."""
        return self._players[self.details[request.split()[0]]].turn(request)


def serve(main):
    """Answers a `Player`, until the input ends.

    Args:
        main: prepares this side. It returns a function from the text of a request to
            something that JSON can carry, and facts to tell before the first turn.
    """
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    # The output of libraries must not come between the answers.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    take_turn, details = main()
    print(json.dumps(details), file=answers, flush=True)
    for line in sys.stdin:
        print(json.dumps(take_turn(line.strip())), file=answers, flush=True)


def played(commands, rounds, requests=("",), warm_ups=0):
    """Starts a `Player` for each command and lets them take turns.

    Args:
        commands: dict by the name of a side.
        rounds, warm_ups: as for `rounds_of`.
        requests: the requests, each played in rounds of its own.

    Returns:
        A list of the answers to each request, as `rounds_of` returns them, and a list
        of the sides' details.
    """
    with contextlib.ExitStack() as stack:
        players = {n: stack.enter_context(Player(c)) for n, c in commands.items()}
        answers = [
            rounds_of(
                {n: functools.partial(p.turn, request) for n, p in players.items()},
                rounds,
                warm_ups,
            )
            for request in requests
        ]
        return answers, [player.details for player in players.values()]


def rounds_of(turns, rounds, warm_ups=0):
    """Calls functions in turn, round after round; returns lists of their answers."""
    answers = {name: [] for name in turns}
    for number in range(warm_ups + rounds):
        for name, turn in turns.items():
            answer = turn()
            if number >= warm_ups:
                answers[name].append(answer)
    return answers


def read_sentences(path):
    """Reads the column "sentence" of a GLUE table, a list of str."""
    with open(path, encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [row["sentence"].strip() for row in rows]


def check_peer(python):
    """Refuses an interpreter of --peer_python without its packages."""
    # Imported here: the peers have no albert_tf.
    from albert_tf.errors import UserError

    command = [python, "-c", "import torch, transformers"]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        raise UserError(
            f"--peer_python={python} cannot import torch and transformers; install "
            "them there, or leave the flag out."
        )


def thread_counts(cores):
    """Lists the numbers of threads that a side tries."""
    return sorted({1, cores // 2 or 1, cores})


def seconds_of_passes(one_pass, repeats):
    """Returns the seconds of each of some calls."""
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        one_pass()
        seconds.append(time.perf_counter() - start)
    return seconds


def seconds_to_choose_by(one_pass):
    """Returns the median seconds of three calls, or of as many as take a second."""
    seconds = []
    while len(seconds) < 3 or sum(seconds) < 1:
        seconds += seconds_of_passes(one_pass, 1)
    return statistics.median(seconds)


def seconds_of(make_windows):
    """Measures wall and CPU seconds of a call, all threads together; and its result."""
    wall, cpu = time.perf_counter(), time.process_time()
    count = make_windows()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return {"wall": wall, "cpu": cpu, "windows": count}


def peak_megabytes():
    """Returns the process's own peak; `getrusage` counts its parent's at the start."""
    status = pathlib.Path("/proc/self/status").read_text(encoding="ascii")
    return int(re.search(r"VmHWM:\s*(\d+) kB", status)[1]) / 1024


def seconds_per_step(run_step, count, wait=lambda: None):
    """Returns the mean time of `count` steps; `wait` returns when all have ended."""
    start = time.perf_counter()
    for _ in range(count):
        run_step()
    wait()
    return (time.perf_counter() - start) / count


def make_batch(batch_size, tokens, predictions, vocab_size):
    """Makes a pretraining batch of full rows, with the features of `input_pipeline`."""
    rng = np.random.default_rng(1)
    positions = [
        np.sort(rng.choice(np.arange(1, tokens), predictions, replace=False))
        for _ in range(batch_size)
    ]
    shape = (batch_size, tokens)
    features = {
        "input_ids": rng.integers(5, vocab_size, shape),
        "input_mask": np.ones(shape),
        "segment_ids": np.broadcast_to(np.arange(tokens) >= tokens // 2, shape),
        "masked_lm_positions": np.stack(positions),
        "masked_lm_ids": rng.integers(5, vocab_size, (batch_size, predictions)),
        "sentence_order_labels": rng.integers(0, 2, batch_size),
    }
    weights = np.ones((batch_size, predictions), "float32")
    return {**_int32(features), "masked_lm_weights": weights}


def make_permutation_batch(batch_size, tokens, predictions, vocab_size):
    """Makes a batch of full segments, with the features of `stream_pipeline`.

    The tokens to predict are predicted in an order of their own, from all others.
    """
    rng = np.random.default_rng(1)
    ranks = np.full((batch_size, tokens), -1)
    for row in ranks:
        chosen = rng.choice(np.arange(tokens), predictions, replace=False)
        row[chosen] = rng.permutation(predictions)
    ids = rng.integers(5, vocab_size, (batch_size, tokens))
    positions = np.nonzero(ranks >= 0)[1].reshape(batch_size, predictions)
    features = {
        "input_ids": ids,
        "segment_ids": np.broadcast_to(np.arange(tokens) >= tokens // 2, ids.shape),
        "query_order": np.maximum(ranks, 0),
        "key_order": ranks,
        "target_positions": positions,
        "target_ids": np.take_along_axis(ids, positions, 1),
        "stream_starts": np.ones(batch_size),
    }
    weights = np.ones((batch_size, predictions), "float32")
    return {**_int32(features), "target_weights": weights}


def _int32(features):
    return {name: values.astype("int32") for name, values in features.items()}
