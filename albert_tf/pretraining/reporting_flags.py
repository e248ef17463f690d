"""From the flags of a pretraining run to what it shows."""

import re

from albert_tf.costs.device_peaks import strategy_peak
from albert_tf.costs.flops import backward_flops
from albert_tf.costs.flops import forward_flops
from albert_tf.engine.reporting.reporter import ReportOptions
from albert_tf.errors import UserError

_TERA = 1e12


def report_options(options, phases, model, strategy):
    """Returns the `ReportOptions` of `PretrainingOptions` and the run's `Phase`s.

    Raises:
        UserError: `--profile_steps` is no range of steps.
    """

    predictions = {p.max_seq_length: p.max_predictions_per_seq for p in phases}

    def flops_per_token(length):
        forward = forward_flops(model.config, length, predictions[length])
        return sum(forward.values()) + backward_flops(forward)

    peak = strategy_peak(strategy, model.compute_dtype)
    if options.peak_teraflops is not None:
        peak = options.peak_teraflops * _TERA * strategy.num_replicas_in_sync
    return ReportOptions(
        histogram_steps=options.histogram_steps,
        profile_steps=profile_range(options.profile_steps),
        flops_per_token=flops_per_token,
        peak_flops=peak,
    )


def profile_range(text):
    """Turns `"a:b"` into `(a, b)`; None stays None.

    Raises:
        UserError: it is not of this form, or the range is empty.
    """
    if text is None:
        return None
    match = re.fullmatch(r"(\d+):(\d+)", text)
    if not match or int(match[1]) >= int(match[2]):
        raise UserError(
            f"--profile_steps={text} is no range of steps; expected first:end with "
            "first below end, such as 100:110."
        )
    return int(match[1]), int(match[2])
