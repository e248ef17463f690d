"""Keras models, one a task."""
