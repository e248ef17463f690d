"""The shards of a data set: their workers, writing and resuming."""
