"""Keras models, one for each task."""
