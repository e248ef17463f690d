"""Gain from pretraining on GLUE: dev scores of pretrained models and from scratch.

  python -m benchmarks.glue_results --model_dirs=demo_output/pretrained,wikipedia \\
      --data_dir=glue_data --output_dir=glue_results

Each model directory is fine-tuned on each task with `--num_runs` seeds, and so is a
model of the same shape and vocabulary with random weights: same steps, same flags.
`results.md` in --output_dir, printed at the end, has the median, least and greatest
score of the best checkpoint and the median of the last. Re-running keeps finished runs;
other flags or data need another --output_dir.
"""

import dataclasses
import pathlib

from albert_tf.cli import command_line
from albert_tf.cli.command_line import option
from benchmarks import pretraining_gain

_OFFICIAL_NAMES = {"accuracy": "eval_accuracy"}


@dataclasses.dataclass(frozen=True)
class Options(pretraining_gain.FineTuningFlags):
    model_dirs: str = option("Directories of pretrained models, separated by commas.")
    data_dir: str = option("Folder of the GLUE data.")
    output_dir: str = option("Folder to write the runs and the table to.")
    tasks: str = option("Names of GLUE tasks, separated by commas.", "sst-2,cola")


def run(options):
    """Runs the missing runs, then writes and prints the table."""
    # Imported here, so that --help does not wait for TensorFlow.
    from albert_tf.tasks.classification.glue import glue_task

    rows = []
    for task_name in options.tasks.split(","):
        metric = glue_task(task_name).metrics[0]
        reported = _OFFICIAL_NAMES.get(metric)
        data_dir = pathlib.Path(options.data_dir)
        flags = {"task_name": task_name, "data_dir": data_dir}
        flags |= options.passed_on()
        for model, start, runs in pretraining_gain.compare(
            "run_classifier",
            task_name,
            options.model_dirs,
            options.output_dir,
            flags,
        ):
            cells = pretraining_gain.score_cells(runs, metric, 3, reported)
            rows.append([f"{task_name}, {metric}", model, start, *cells])
    pretraining_gain.write_table(options.output_dir, rows)


if __name__ == "__main__":
    command_line.run(Options, run)
