"""Predicts raw strings with a SavedModel, knowing nothing of albert_tf.

python tools/predict_strings.py EXPORT_DIR TEXT...
"""

import pathlib
import sys

import tensorflow as tf
import tensorflow_text  # noqa: F401  (registers the ops of the tokenizer)

export_dir, *texts = sys.argv[1:]
versions = [path for path in pathlib.Path(export_dir).iterdir() if path.name.isdigit()]
newest = max(versions, key=lambda path: int(path.name))
served = tf.saved_model.load(str(newest)).signatures["serving_default"]
(name,) = served.structured_input_signature[1]
answers = served(**{name: tf.constant(texts)})
for i, text in enumerate(texts):
    label = answers["label"][i].numpy()
    label = label.decode() if isinstance(label, bytes) else label
    probability = tf.reduce_max(answers["probabilities"][i])
    print(f"{label} ({probability:.2f}): {text}")
