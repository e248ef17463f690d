"""Records on the disk, their schema and their description."""
