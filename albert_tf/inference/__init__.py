"""What a model says of texts, without training: guesses, vectors, attention."""
