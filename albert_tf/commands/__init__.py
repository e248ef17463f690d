"""Commands of `albert-tf` on a model: a file each, with its flags and what it calls."""
