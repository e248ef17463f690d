"""Makes pretraining data on a cluster, with Apache Beam.

  python -m data_pipeline.beam --input_file='gs://bucket/corpus/*.txt' \\
      --output_file=gs://bucket/data/train.tfrecord --num_shards=1000 \\
      --spm_model_file=gs://bucket/30k-clean.model \\
      --beam_options='--runner=DataflowRunner --project=… --region=…'

The command takes the flags of create_pretraining_data and writes the same files, byte
for byte; each shard is one work item. Input and output must lie where every machine can
reach them. The command needs `pip install 'albert-tf[beam]'`.
docs/data.md says more.
"""

import dataclasses
import functools
import shlex
from collections.abc import Callable
from collections.abc import Sequence
from typing import Any

from albert_tf.cli import command_line
from albert_tf.cli.command_line import group_of
from albert_tf.cli.command_line import option
from albert_tf.errors import UserError
from albert_tf.errors import of_extra
from data_pipeline.create_pretraining_data import create_pretraining_data
from data_pipeline.options import DataOptions


@dataclasses.dataclass(frozen=True, kw_only=True)
class BeamOptions(DataOptions):
    beam_options: str = option(
        "Flags for the Beam runner, in one string.", "--runner=DirectRunner"
    )


def write_shards(
    beam_options: str,
    options: DataOptions,
    files: Any,
    paths: dict[str, list[str]],
    shards: Any,
    finished: Callable[..., None],
) -> None:
    """Writes `shards` with the runner of `beam_options`.

    The other arguments are those of `workers.write_shards`; `finished` is called on the
    machine that wrote the shard.

    Raises:
        UserError: Beam is not installed, or has no such runner.
    """
    # Imported here, so that --help answers where it is missing.
    with of_extra("beam", "Apache Beam is not installed"):
        import apache_beam as beam
        from apache_beam.options.pipeline_options import PipelineOptions
    runner_options = PipelineOptions(shlex.split(beam_options))
    write = functools.partial(_write, options, files, paths, finished)
    try:
        pipeline = beam.Pipeline(options=runner_options)
    except (AttributeError, ImportError, ValueError) as error:
        raise UserError(f"--beam_options={beam_options}: {error}") from error
    with pipeline:
        _ = (
            pipeline
            | "Shards" >> beam.Create(shards)
            | "Spread" >> beam.Reshuffle()
            | "Write" >> beam.Map(write)
        )


def _write(options, files, paths, finished, shard):
    # Imported on the machine that writes, and not for --help.
    from data_pipeline.shards.writing import write_shard

    # The runner shows the progress.
    finished(shard, write_shard(options, files, shard, paths, lambda *_: None))


def create(options: BeamOptions) -> dict[str, dict[str, int]]:
    """Does `create_pretraining_data` with the runner of `BeamOptions`."""
    write = functools.partial(write_shards, options.beam_options)
    # Other machines know `DataOptions`, but not the classes of this main module.
    return create_pretraining_data(group_of(DataOptions, options), write)


def main(argv: Sequence[str] | None = None) -> None:
    """Runs the command."""
    command_line.run(BeamOptions, create, argv=argv)


if __name__ == "__main__":
    main()
