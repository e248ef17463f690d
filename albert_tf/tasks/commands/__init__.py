"""Commands of tasks: the parts that all families share, and `albert-tf early-exit`."""
