"""Checkpoint formats: model directories, official TF1, TF-Hub and Hugging Face."""
