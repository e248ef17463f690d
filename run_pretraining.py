"""Pretrains ALBERT; see albert_tf/training/pretraining_options.py or --help."""

from albert_tf import command_line
from albert_tf.training.pretraining import pretrain
from albert_tf.training.pretraining_options import PretrainingOptions

# Official flags that only TPUEstimator needed, or that never had an effect.
_IGNORED = ("masked_lm_budget", "master", "num_tpu_cores")

if __name__ == "__main__":
    command_line.run(PretrainingOptions, pretrain, _IGNORED)
