"""Common parts of benchmarks: turns of processes, shapes, records and figures."""
