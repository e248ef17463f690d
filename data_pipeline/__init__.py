"""Pretraining data: from raw text to TFRecords, and from TFRecords to `tf.data`."""
