"""The `albert-tf` commands that work on a model, one file per command."""
