"""Compares a checkpoint's outputs with outputs that another program stored.

    python -m albert_tf.verify DIRECTORY

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
(`albert_tf.verify.squad` lists them), and recordings of multiple choice
(`albert_tf.verify.race`), of XLNet (`albert_tf.verify.xlnet`) and of Hugging Face's
heads (`albert_tf.verify.huggingface`, `xlnet_answers`). It exits with status 1 if a
deviation is greater than the tolerance. docs/checkpoints.md says more.
"""

import dataclasses
import sys

from albert_tf.checkpoints.flags import ReadingFlags
from albert_tf.checkpoints.flags import obeys_reading_flags
from albert_tf.cli.command_line import option
from albert_tf.cli.command_line import run


@dataclasses.dataclass(frozen=True)
class VerifyOptions(ReadingFlags):
    """The flags of `python -m albert_tf.verify`."""

    directory: str = option(
        "Folder to verify; the first argument without a flag's name means the same."
    )
    spm_model_file: str | None = option(
        "Vocabulary that the recorded features were made with.", None
    )


def verify(directory, vocabulary=None):
    """Computes everything that `directory` expects.

    Args:
        directory: see the module's description.
        vocabulary: the tokenizer that recorded features were made with; see
            `recordings.tokenizer_of`.

    Returns:
        (list of `comparison.Deviation`, list of the names in `expected.npz` that are
        not known)

    Raises:
        UserError: a file is missing or does not fit the others.
    """
    # Imported here, so that --help does not wait for TensorFlow.
    from albert_tf.verify.comparison import deviations_of

    return deviations_of(directory, vocabulary)


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
