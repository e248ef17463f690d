"""Training objectives: loss terms, and the objectives of pretraining."""
