"""Common material of both sides: weights and batches; and the peer's process."""

import json
import pathlib
import subprocess

import numpy as np

from albert_tf.errors import UserError

_ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def write_batches(path, input_file, tokenizer, batch_size, count, seed):
    """Writes batches of records as an `.npz` of arrays `[batches, batch, …]`.

    Returns:
        The length of a sequence, in tokens.

    Raises:
        UserError: records that are missing, too few or damaged, or have no description.
    """
    # Imported here, as below, so that --help does not wait for TensorFlow.
    from albert_tf.pretraining.settings import described_lengths
    from data_pipeline.input_pipeline import pretraining_dataset

    lengths = described_lengths(input_file, None)
    dataset = pretraining_dataset(
        input_file, tokenizer, batch_size, *lengths.values(), seed, training=True
    )
    batches = [
        batch
        for batch in dataset.take(count).as_numpy_iterator()
        if len(batch["input_ids"]) == batch_size
    ]
    names = batches[0]
    np.savez(path, **{name: np.stack([one[name] for one in batches]) for name in names})
    return lengths["max_seq_length"]


def write_start(config, folder, tokenizer, seed):
    """Writes an ALBERT of random weights as a directory of Hugging Face's."""
    import keras

    from albert_tf.models.pretraining import AlbertForPreTraining

    keras.utils.set_random_seed(seed)
    AlbertForPreTraining(config).save_pretrained(
        folder, tokenizer, format="huggingface"
    )


def peer(python, setting):
    """Returns the result of `hugging_face.train` in a process of its own.

    Raises:
        UserError: it fails.
    """
    command = [python, "-m", "benchmarks.same_curve.hugging_face", json.dumps(setting)]
    done = subprocess.run(command, stdout=subprocess.PIPE, cwd=_ROOT, check=False)
    if done.returncode:
        raise UserError(f"{' '.join(command[:3])} failed; its messages are above.")
    return json.loads(done.stdout.splitlines()[-1])
