"""Model families: their configurations and variable names."""
