"""What make demo runs."""
