"""Compares a checkpoint's outputs with outputs that another program stored.

    python -m tools.verify DIRECTORY

DIRECTORY holds a checkpoint with its config (official TF1, Hugging Face or our
own), `inputs.npz` and `expected.npz`. `expected.npz` may hold:

    embedding_output, layer_<i>, sequence_output, pooled_output
    mlm_log_probs [batch * predictions, vocabulary], sop_log_probs [batch, 2]
    mlm_loss, sop_loss, loss
    grad/<official name>     gradients of the loss, without dropout
    train_losses             losses before each step and after the last
    after/<official name>    weights after the steps of `train.json`

The last two need `train.json`: optimizer, learning_rate, num_train_steps,
num_warmup_steps and steps, taken on the constant batch with gradients clipped to the
global norm 1. The command recognises recordings of reading comprehension by their files
(`tools.verify.squad` lists them), and recordings of multiple choice
(`tools.verify.race`), of XLNet (`tools.verify.xlnet`) and of Hugging Face's
heads (`tools.verify.huggingface`). It exits with status 1 if a deviation is greater
than the tolerance. docs/checkpoints.md says more.
"""

import dataclasses
import sys
import typing

import numpy as np

from albert_tf.checkpoints.flags import ReadingFlags
from albert_tf.checkpoints.flags import obeys_reading_flags
from albert_tf.cli.command_line import option
from albert_tf.cli.command_line import run
from albert_tf.errors import UserError

_GRADIENTS = ("grad/", "grad_none/")


@dataclasses.dataclass(frozen=True)
class VerifyOptions(ReadingFlags):
    """The flags of `python -m tools.verify`."""

    directory: str = option(
        "Folder to verify; the first argument without a flag's name means the same."
    )
    spm_model_file: str | None = option(
        "Vocabulary that the recorded features were made with.", None
    )


class Deviation(typing.NamedTuple):
    """Distance of one array from its expected value."""

    name: str
    absolute: float  # the largest difference of two entries
    relative: float  # that, divided by the largest expected entry
    limit: float  # the bound of `absolute`
    note: str = ""  # a remark for the table

    @property
    def passed(self):
        """True for a deviation within the limit; never for NaN."""
        return self.absolute <= self.limit


def verify(directory, vocabulary=None):
    """Computes everything that `directory` expects.

    Args:
        directory: see the module's description.
        vocabulary: the tokenizer that recorded features were made with; see
            `recordings.tokenizer_of`.

    Returns:
        (list of `Deviation`, list of the names in `expected.npz` that are not known)

    Raises:
        UserError: a file is missing or does not fit the others.
    """
    # Imported here, so that --help does not wait for TensorFlow.
    from albert_tf.hub.names import refuse_run_folder
    from tools.verify import huggingface
    from tools.verify import pretraining
    from tools.verify import race
    from tools.verify import squad
    from tools.verify import xlnet

    refuse_run_folder(directory)
    kinds = (huggingface, xlnet, race)
    kind = next((k for k in kinds if k.knows(directory)), squad)
    parts = list(kind.compare(directory, vocabulary))
    parts = parts or list(pretraining.compare(directory))
    deviations = [one for part in parts for one in _deviations(part)]
    if not deviations:
        raise UserError(
            f"{directory}/expected.npz holds none of the arrays that verify compares."
        )
    unknown = [p.prefix + n for p in parts for n in p.expected if n not in p.found]
    return deviations, unknown


def _deviations(part):
    found, expected = part.found, part.expected
    known = [name for name in expected if name in found]
    largest_gradient = max(
        (np.abs(expected[name]).max() for name in known if name.startswith(_GRADIENTS)),
        default=0.0,
    )
    for name in known:
        limit = part.weights_limit
        if not name.startswith("after/"):
            limit = _limit(name, expected[name], largest_gradient)
        distances = _distances(found[name], expected[name])
        note = part.notes.get(name, "")
        yield Deviation(part.prefix + name, *distances, limit, note)


def _limit(name, expected, largest_gradient):
    """Returns the limit: 1e-5 of the largest entry, for outputs at least 1e-5.

    A gradient that is zero in exact arithmetic, such as the gradient of the key's bias,
    is noise of float32; so it may also deviate by 1e-6 of the largest of all, and by
    1e-5 of it where nothing but noise is expected.
    """
    largest = float(np.abs(expected).max())
    if name.startswith(_GRADIENTS):
        is_noise = largest <= 1e-5 * largest_gradient
        return max(1e-5 * largest, (1e-5 if is_noise else 1e-6) * largest_gradient)
    return 1e-5 * max(1.0, largest)


def _distances(found, expected):
    """Returns the absolute and the relative deviation of an array."""
    found = np.asarray(found).astype(np.float64)
    if found.shape != expected.shape:
        return np.inf, np.inf
    largest = float(np.abs(expected).max())
    absolute = float(np.abs(found - expected).max())
    return absolute, absolute / largest if largest else absolute


def print_table(deviations):
    """Prints one line an array."""
    width = max(len(deviation.name) for deviation in deviations)
    print(f"{'array':{width}}  max abs   limit     max rel")
    for deviation in deviations:
        print(
            f"{deviation.name:{width}}  {deviation.absolute:.1e}   "
            f"{deviation.limit:.1e}   {deviation.relative:.1e}"
            f"{'' if deviation.passed else '   FAILED'}"
            f"{deviation.note and f'   {deviation.note}'}"
        )


@obeys_reading_flags
def run_verify(options):
    """Verifies, prints the table, and exits with status 1 on a failure."""
    deviations, unknown = verify(options.directory, options.spm_model_file)
    print_table(deviations)
    if unknown:
        print(f"unknown arrays, not compared: {', '.join(unknown)}")
    failures = sum(not deviation.passed for deviation in deviations)
    print(f"{len(deviations) - failures} of {len(deviations)} arrays agree")
    if failures:
        sys.exit(1)


def main(argv=None):
    """Runs the command."""
    argv = sys.argv if argv is None else argv
    name, *arguments = argv
    if arguments and not arguments[0].startswith("-"):
        arguments[0] = f"--directory={arguments[0]}"
    run(VerifyOptions, run_verify, argv=[name, *arguments])
