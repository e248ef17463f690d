"""The same start, data and optimizer here and in PyTorch: the same losses.

  python -m benchmarks.same_curve --input_file='demo_output/data/train*.tfrecord' \\
      --spm_model_file=demo_output/vocab/docstrings.model --output_dir=same_curve

Hugging Face's AlbertForPreTraining, and its BertForPreTraining against a model that
shares nothing, begin with the same random weights, which travel through a checkpoint of
theirs. Both sides read the same batches in the same order, without dropout, and use
AdamW with bias correction or LAMB, PyTorch's being written from the paper's formulas.
The command writes losses.json, and exits with status 1 if a loss differs by more than
--tolerance.
"""

import dataclasses
import itertools
import json
import pathlib
import statistics
import sys

import numpy as np

from albert_tf.cli import command_line
from albert_tf.cli.command_line import option
from albert_tf.config import AlbertConfig
from albert_tf.errors import UserError
from albert_tf.io.files import write_atomically
from albert_tf.tokenization import load_tokenizer
from benchmarks.measuring import figures
from benchmarks.measuring import turns

_LEARNING_RATES = {"adamw": 5e-4, "lamb": 5e-3}
_SEED = 12345  # of weights, order and masks
# Loss terms of ours, and their names in the table.
TERMS = {"masked_lm_loss": "masked LM", "sentence_order_loss": "sentence order"}


@dataclasses.dataclass(frozen=True)
class Options:
    input_file: str = option("TFRecords with sentence order, to train on.")
    spm_model_file: str = option("SentencePiece model that the data was made with.")
    output_dir: str = option("Folder for the starts, the batches and the results.")
    peer_python: str = option(
        "Python interpreter that has torch and transformers.", sys.executable
    )
    models: str = option("Models to train, separated by commas.", "albert,bert")
    optimizers: str = option(
        "Optimizers to train with, separated by commas.", "adamw,lamb"
    )
    hidden_size: int = option("Width of the layers, a multiple of 64.", 128, minimum=64)
    num_hidden_layers: int = option("Number of layers.", 4, minimum=1)
    num_train_steps: int = option("Number of training steps.", 300, minimum=1)
    train_batch_size: int = option("Number of sequences in a batch.", 32, minimum=1)
    tolerance: float = option("Largest difference of a loss.", 1e-4, minimum=0)


def benchmark(options):
    """Trains every model with every optimizer on both sides; prints the differences.

    Returns:
        `{(model, optimizer): {side: {term: losses}}}`; the lists are of `[steps]`.
    """
    turns.check_peer(options.peer_python)
    folder = pathlib.Path(options.output_dir)
    folder.mkdir(parents=True, exist_ok=True)
    config = _prepare(options, folder)
    models, optimizers = options.models.split(","), options.optimizers.split(",")
    found = {
        pair: _curves(options, folder, config, *pair)
        for pair in itertools.product(models, optimizers)
    }
    return _report(found, folder, options.tolerance)


def _prepare(options, folder):
    """Writes the batches and ALBERT's start; returns its configuration."""
    # Imported here, so that --help does not wait for TensorFlow.
    from benchmarks.same_curve import ours

    tokenizer = load_tokenizer(options.spm_model_file)
    length = ours.write_batches(
        folder / "batches.npz",
        options.input_file,
        tokenizer,
        options.train_batch_size,
        options.num_train_steps,
        _SEED,
    )
    config = AlbertConfig(
        vocab_size=tokenizer.vocab_size,
        embedding_size=options.hidden_size // 2,
        hidden_size=options.hidden_size,
        num_hidden_layers=options.num_hidden_layers,
        num_attention_heads=options.hidden_size // 64,
        intermediate_size=4 * options.hidden_size,
        max_position_embeddings=length,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    ours.write_start(config, folder / "albert", tokenizer, _SEED)
    return config


def _curves(options, folder, config, model, optimizer):
    """Returns the losses of both sides; each begins with `folder`/`model`."""
    setting = {
        "start": str(folder / model),
        "batches": str(folder / "batches.npz"),
        "optimizer": optimizer,
        "learning_rate": _LEARNING_RATES[optimizer],
        "random_seed": _SEED,
    }
    if model == "bert":  # ours cannot be written in its form, but theirs be read
        setting["bert"] = {**config.to_dict(), "embedding_size": config.hidden_size}
    with turns.Player(
        turns.command_of(options.peer_python, "hugging_face_curve", setting)
    ) as peer:
        theirs = peer.turn()
    from benchmarks.same_curve import ours

    own = ours.train(setting)
    here, there = (statistics.median(side["seconds"]) for side in (own, theirs))
    print(
        f"{model}, {optimizer}: {here:.3f} s a step here, {there:.3f} s in PyTorch",
        flush=True,
    )
    return {"albert-tf": own, "Hugging Face": theirs}


def _report(found, folder, tolerance):
    """Writes the losses, prints the table, refuses differences."""
    write_atomically(
        folder / "losses.json",
        json.dumps({", ".join(key): sides for key, sides in found.items()}),
    )
    worst, rows = 0.0, []
    for key, sides in found.items():
        for term, name in TERMS.items():
            own, theirs = (np.array(sides[side][term]) for side in sides)
            difference = float(np.abs(own - theirs).max())
            worst = np.maximum(worst, difference)  # NaN stays NaN
            cells = [", ".join(key), name, f"{own[0]:.4f}", f"{own[-1]:.4f}"]
            rows.append([*cells, f"{difference:.1e}"])
    columns = ["model, optimizer", "loss", "first", "last", "largest difference"]
    print("", *figures.markdown(columns, rows), sep="\n")
    if not worst <= tolerance:
        raise UserError(f"The losses differ by {worst:.1e}, more than {tolerance:g}.")
    return found


if __name__ == "__main__":
    command_line.run(Options, benchmark)
