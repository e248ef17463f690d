"""Benchmarks of reading comprehension."""
