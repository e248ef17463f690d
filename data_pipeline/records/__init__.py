"""Records on disk, their schema and their description."""
