"""Pretrains ALBERT; see albert_tf/training/pretraining_options.py or --help."""

from albert_tf import command_line
from albert_tf.training.pretraining import pretrain
from albert_tf.training.pretraining_options import PretrainingOptions

# Official flags that only TPUEstimator needed, or that never had an effect.
_IGNORED = (
    "gcp_project",
    "masked_lm_budget",
    "master",
    "num_tpu_cores",
    "tpu_name",
    "tpu_zone",
    "use_tpu",
)

if __name__ == "__main__":
    command_line.run(PretrainingOptions, pretrain, _IGNORED)
