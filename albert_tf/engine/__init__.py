"""Training of any Keras model on any objective: strategies, steps and checkpoints."""
