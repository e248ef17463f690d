"""The sides of `benchmarks.train_step`, each a process of its own."""
