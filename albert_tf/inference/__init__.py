"""Inference on texts, without training: guesses, vectors, attention."""
