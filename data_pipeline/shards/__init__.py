"""The shards of a data set: who writes them, and how writing goes on."""
