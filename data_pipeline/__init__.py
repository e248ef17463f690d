"""From raw text to TFRecords, and from TFRecords to `tf.data`."""

import albert_tf  # noqa: F401  (before TensorFlow, whose start-up it quiets)
