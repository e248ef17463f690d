"""The sides of the benchmarks, each a process of its own."""
