"""Readers of folders with a damaged file, as the commands and the library read.

`python -m benchmarks.faults.reading REFERENCE` answers, line by line, requests of
`damage.py`: the contents, as a digest, or the error.
"""

import contextlib
import io
import json
import logging
import os
import pathlib
import sys
import traceback

from albert_tf.errors import UserError
from benchmarks.faults import outcomes
from benchmarks.faults import programs
from benchmarks.measuring.turns import serve

_TEXTS = ["the cat sat on a mat.", "quickly under the house", "bird"]
_STEPS = 12  # of the runs that are gone on with


class Refused(Exception):
    """A command has ended with one sentence."""


def read(group, folder, reference):
    """Returns the `digest` of a folder and the warnings, an `error` or `traceback`."""
    try:
        with _warnings() as warned:
            digest = READERS[group](pathlib.Path(folder), reference)
        return {"digest": digest, "warned": "; ".join(warned)}
    except (UserError, Refused) as error:
        return {"error": str(error)}
    except OSError as error:
        if error.strerror is None:
            return {"traceback": traceback.format_exc()}
        return {"error": f"{error.filename}: {error.strerror}"}
    except Exception:
        return {"traceback": traceback.format_exc()}


@contextlib.contextmanager
def _warnings():
    """Collects the warnings of a `with` block."""
    said = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: said.append(record.getMessage())
    logger = logging.getLogger("absl")
    logger.addHandler(handler)
    try:
        yield said
    finally:
        logger.removeHandler(handler)


def _run(program, folder, reference):
    """Runs a command in this process."""
    from albert_tf.cli import commands

    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
            commands.main(["albert-tf", *program.arguments(folder, reference)])
    except SystemExit as error:
        last = said.getvalue().strip().rpartition("\n")[2]
        raise Refused(last.removeprefix("error: ")) from error


def _result(folder):
    found = outcomes.outcome(folder)
    kept = {name: v for name, v in found.items() if not name.endswith(".index")}
    return json.dumps(kept, sort_keys=True)


def _vocabulary(folder, reference):
    from albert_tf.tokenization import load_tokenizer

    tokenizer = load_tokenizer(folder / "words.model")
    return json.dumps(tokenizer.encode_batch(_TEXTS))


def _records(folder, reference):
    changes = {"input_file": folder / "train*.tfrecord"}
    changes["eval_file"] = folder / "held_out" / "*.tfrecord"
    out = folder / "out"
    _run(short_pretraining(_STEPS, **changes), out, reference)
    return _result(out)


def _finished(program):
    """Returns a reader that runs a program to its end in its folder."""

    def read_result(folder, reference):
        _run(program, folder, reference)
        # Damaged checkpoints that were passed over are still there.
        for path in folder.glob("checkpoints/training-*"):
            path.unlink()
        return _result(folder)

    return read_result


def short_pretraining(steps=_STEPS, **changes):
    """Returns a `Program`: a few steps, with evaluations and checkpoints."""
    flags = {"num_train_steps": steps, "save_checkpoints_steps": 6, "eval_steps": 6}
    return programs.changed(programs.PRETRAIN, **flags, **changes)


def _model(folder, reference):
    import albert_tf
    from albert_tf.checkpoints.model_directory import read_training_info

    model = albert_tf.AlbertForPreTraining.from_pretrained(folder)
    arrays = {k: v.numpy() for k, v in model.official_variables().items()}
    tokenizer = albert_tf.load_tokenizer(folder)
    info = read_training_info(folder)
    facts = [model.config.to_dict(), tokenizer.encode_batch(_TEXTS), info]
    return outcomes.digest(arrays) + json.dumps(facts, default=str)


def _applied(folder, reference):
    changed = programs.changed(programs.CLASSIFY, do_train=False)
    _run(changed, folder, reference)
    return (folder / "eval_results.txt").read_text() + (
        folder / "test_results.tsv"
    ).read_text()


def _served(folder, reference):
    from albert_tf.serving.predictor import Predictor

    answers = Predictor(folder / "served").arrays(_TEXTS)
    return outcomes.digest(answers)


READERS = {
    "vocabulary": _vocabulary,
    "data set": _records,
    "unfinished data set": _finished(programs.DATA),
    "pretraining run": _finished(short_pretraining(2 * _STEPS)),
    "fine-tuning run": _finished(programs.CLASSIFY),
    "model directory": _model,
    "fine-tuned model": _applied,
    "SavedModel": _served,
    "Hugging Face model": _model,
    "TF1 checkpoint": _model,
}
"""Of each group of files, how they are read."""


def main():
    """Answers requests until the input ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
    reference = pathlib.Path(sys.argv[1])

    def answer(line):
        return read(**json.loads(line), reference=reference)

    serve(lambda: (answer, "ready"))


if __name__ == "__main__":
    main()
