"""Fine-tunes a text classifier; --help and docs/finetuning.md say how."""

from albert_tf import command_line
from albert_tf.tasks.classification.flags import ClassifierOptions
from albert_tf.tasks.classification.run import classify

# Official flags that only TPUEstimator needed, or that this program makes needless.
_IGNORED = ("master", "num_tpu_cores", "threshold_to_export")
# Official flags that are not accepted, and what to do instead.
_REPLACED = {
    "albert_hub_module_handle": "name the module's folder, its archive or the "
    "archive's URL with --init_checkpoint"
}

if __name__ == "__main__":
    command_line.run(ClassifierOptions, classify, _IGNORED, replaced=_REPLACED)
