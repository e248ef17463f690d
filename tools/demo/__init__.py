"""Steps of `make demo`."""
