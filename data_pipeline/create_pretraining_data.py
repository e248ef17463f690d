"""Turns text into TFRecord files for pretraining; options.py lists its options."""

import functools
import os
import signal
import sys
from collections.abc import Callable
from collections.abc import Sequence

from albert_tf.cli import command_line
from data_pipeline.options import DataOptions

_IGNORED = ("input_file_mode", "parallel")


def create_pretraining_data(
    options: DataOptions, write_shards: Callable[..., None] | None = None
) -> dict[str, dict[str, int]]:
    """Makes the data set that `options` describe.

    Args:
        options: `DataOptions`.
        write_shards: the runner of the work, here or elsewhere; by default
            `shards.workers.write_shards`, which describes its arguments, with
            `--workers` processes.

    Returns:
        A dict of split ("train", perhaps "held_out") to a dict of counts.

    Raises:
        UserError: the input or the vocabulary is missing or does not fit; the
            directory holds another data set or cannot be written; or no sequence
            came out.
    """
    # Imported here, so that --help does not wait for TensorFlow.
    from data_pipeline.shards import making
    from data_pipeline.shards import workers

    default = functools.partial(workers.write_shards, workers=options.workers)
    return making.make(options, write_shards or default)


def _command(options):
    from data_pipeline.shards import workers

    workers.use_one_cpu()
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        create_pretraining_data(options)
    except (KeyboardInterrupt, SystemExit):
        folder = os.path.dirname(options.paths()["train"][0]) or "."
        print(f"\nstopped: finished files are kept in {folder}", file=sys.stderr)
        raise


def main(argv: Sequence[str] | None = None) -> None:
    """Runs the command."""
    command_line.run(DataOptions, _command, _IGNORED, argv)


if __name__ == "__main__":
    main()
