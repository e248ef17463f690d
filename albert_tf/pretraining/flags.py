"""Pretrains ALBERT or XLNet on TFRecords of create_pretraining_data.

  python run_pretraining.py --input_file='data/train*.tfrecord' \\
      --eval_file='data/held_out/*.tfrecord' --spm_model_file=vocab/my_corpus.model \\
      --albert_config_file=configs/albert/base_v2.json --output_dir=my_model

The flags of the official run_pretraining keep their meaning and defaults; new ones
stand beside them. Re-running a command resumes its run exactly where it stopped.

The command writes to --output_dir: the model directory (albert_config.json,
model.weights.h5, the tokenizer, training_info.json), eval_results.txt, history.json
(every held-out evaluation), curves.png (with matplotlib), train/ and eval/ (for
TensorBoard), and checkpoints/. The latter holds the states to resume from, and
best-<step>, the model directory with the best held-out masked LM accuracy.
docs/pretraining.md says more.
"""

import dataclasses

from albert_tf.checkpoints.flags import ReadingFlags
from albert_tf.checkpoints.flags import obeys_reading_flags
from albert_tf.cli import command_line
from albert_tf.cli.command_line import changeable
from albert_tf.engine.flags import DeviceFlags
from albert_tf.engine.flags import ReportFlags
from albert_tf.engine.flags import TrainerFlags
from albert_tf.pretraining.data_flags import DataFlags
from albert_tf.pretraining.run_flags import ModelFlags
from albert_tf.pretraining.run_flags import RunFlags
from albert_tf.pretraining.run_flags import ScheduleFlags

# Official flags that only TPUEstimator needed, or that never had an effect.
_IGNORED = ("masked_lm_budget", "master", "num_tpu_cores")


@dataclasses.dataclass(frozen=True, kw_only=True)
class PretrainingOptions(
    DataFlags,
    ModelFlags,
    TrainerFlags,
    RunFlags,
    ScheduleFlags,
    ReportFlags,
    DeviceFlags,
    ReadingFlags,
):
    """The flags of run_pretraining.py."""

    restart_data: bool = changeable(
        "Continue the run, but read the data from its beginning: for data that was "
        "moved, made again or replaced.",
        False,
    )
    eval_steps: int = changeable(
        "Number of steps from one evaluation on --eval_file to the next during "
        "training; 0 evaluates only at the end.",
        0,
        minimum=0,
    )


def main(argv=None):
    """Pretrains as the flags say."""
    command_line.run(PretrainingOptions, _pretrain, _IGNORED, argv)


@obeys_reading_flags
def _pretrain(options):
    # Imported here, so that --help does not wait for TensorFlow.
    from albert_tf.pretraining.run import pretrain
    from albert_tf.pretraining.run import settings_of

    pretrain(settings_of(options))
