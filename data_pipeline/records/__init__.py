"""What lies on the disk: records, their schema and their description."""
