"""Checkpoints in and out: model directories, official TF1, TF-Hub, Hugging Face."""
