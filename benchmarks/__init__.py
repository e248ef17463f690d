"""Benchmarks, which measure this machine and print the figures."""
