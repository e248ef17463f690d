"""training_info.json of a pretraining run: what made these weights."""

from albert_tf.engine.reporting.versions import versions
from data_pipeline.input_pipeline import describe_data


def training_info(flags, input_files, step, evaluations):
    """Steps, data set, metrics, flags, versions and seed, as a dict for JSON.

    Args:
        flags: dict of the run's flags, as they were resolved.
        input_files: what it reads, as a comma list.
        step: optimizer steps done.
        evaluations: the entries of `history.json`.
    """
    return {
        "step": step,
        "random_seed": flags["random_seed"],
        "data": describe_data(input_files),
        "evaluations": evaluations,
        "options": flags,
        "versions": versions(),
    }
