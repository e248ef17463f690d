"""Models that answer before the last layer."""
