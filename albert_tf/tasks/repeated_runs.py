"""The same fine-tuning with several seeds: medians and spread."""

import dataclasses
import pathlib
import statistics

import keras
from absl import logging

from albert_tf.errors import UserError
from albert_tf.files import write_json
from albert_tf.tasks.classifier import run_classifier
from albert_tf.training.summaries import write_eval_results


def run_repeatedly(options):
    """`run_classifier`, `--num_runs` times; the paper reports the median of five.

    Run i has the seed `random_seed + i` and the folder `run_<i>` in the output
    directory. There, eval_results.txt holds the median, least and greatest of each
    value, and runs.json all of them.

    Raises:
        UserError: as `run_classifier`; or several runs that are not both trained and
            evaluated.
    """
    if options.num_runs == 1:
        run_classifier(options)
        return
    if not (options.do_train and options.do_eval):
        raise UserError("--num_runs needs --do_train and --do_eval.")
    output_dir = pathlib.Path(options.output_dir)
    runs = []
    for i in range(options.num_runs):
        logging.info("Run %d of %d", i + 1, options.num_runs)
        one = dataclasses.replace(
            options,
            num_runs=1,
            random_seed=options.random_seed + i,
            output_dir=str(output_dir / f"run_{i}"),
            cached_dir=options.cached_dir or str(output_dir / "cache"),
        )
        runs.append({"random_seed": one.random_seed, **run_classifier(one)})
        keras.backend.clear_session()
    if runs[0].keys() == {"random_seed"}:
        return  # Another worker has the results.
    write_json(output_dir / "runs.json", runs)
    values = {"num_runs": options.num_runs}
    for name in runs[0].keys() - {"random_seed"}:
        found = [run[name] for run in runs]
        values[f"{name}_median"] = statistics.median(found)
        values[f"{name}_min"], values[f"{name}_max"] = min(found), max(found)
    write_eval_results(str(output_dir / "eval_results.txt"), values)
    for name, value in sorted(values.items()):
        if name.endswith("_median"):
            logging.info("%s = %s", name, value)
