"""Reports and records of a run."""
