"""What benchmarks share: turns of processes, shapes and records, and their figures."""
