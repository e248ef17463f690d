"""Trains any Keras model on any objective: strategies, steps, checkpoints, reports."""
