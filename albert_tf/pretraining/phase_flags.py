"""The flags of a second phase of pretraining."""

import dataclasses

from albert_tf.cli.command_line import option
from albert_tf.engine.resumption import RESTART_DATA


@dataclasses.dataclass(frozen=True, kw_only=True)
class PhaseFlags:
    """What changes in the middle of a run, such as the length of the sequences."""

    first_phase_steps: int = option(
        "Step at which the second phase begins; 0 trains in one phase. The second "
        "phase takes over what its own flags do not set; data of its own brings its "
        "own lengths. Held-out data has the lengths of the last phase.",
        0,
        minimum=0,
        may_change=True,
    )
    second_phase_input_file: str | None = option(
        "TFRecord files of the second phase: names, globs and folders, separated by "
        "commas.",
        None,
        may_change=RESTART_DATA,
    )
    second_phase_max_seq_length: int | None = option(
        "Length of a sequence in the second phase, in tokens.",
        None,
        minimum=1,
        may_change=RESTART_DATA,
    )
    second_phase_max_predictions_per_seq: int | None = option(
        "Number of predictions in a sequence of the second phase.",
        None,
        minimum=1,
        may_change=RESTART_DATA,
    )
    second_phase_train_batch_size: int | None = option(
        "Number of sequences in a step of the second phase, over all devices.",
        None,
        minimum=1,
        may_change=RESTART_DATA,
    )
    second_phase_gradient_accumulation_steps: int | None = option(
        "Number of parts in which a batch of the second phase is computed, one "
        "after the other.",
        None,
        minimum=1,
        may_change=True,
    )
