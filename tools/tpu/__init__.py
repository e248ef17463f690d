"""The TPU compiler on a machine that has no TPU."""
