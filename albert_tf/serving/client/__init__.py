"""What a `Predictor` is made of: strings to batches, and outputs to answers."""
