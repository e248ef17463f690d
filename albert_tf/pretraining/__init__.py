"""Pretraining: from TFRecords to a model directory."""
