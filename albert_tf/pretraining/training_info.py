"""training_info.json of a pretraining run: the origin of its weights."""

from albert_tf.engine.reporting.versions import versions
from data_pipeline.input_pipeline import describe_data


def training_info(flags, input_files, step, evaluations):
    """Collects steps, data, metrics, flags, versions and seed, as a dict for JSON.

    Args:
        flags: dict of the run's flags, as they were resolved.
        input_files: the files that it reads, as a comma list.
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
