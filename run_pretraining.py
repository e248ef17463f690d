"""Pretrains ALBERT; --help and docs/pretraining.md say how."""

from albert_tf import command_line
from albert_tf.pretraining.flags import PretrainingOptions
from albert_tf.pretraining.run import pretrain

# Official flags that only TPUEstimator needed, or that never had an effect.
_IGNORED = ("masked_lm_budget", "master", "num_tpu_cores")

if __name__ == "__main__":
    command_line.run(PretrainingOptions, pretrain, _IGNORED)
