"""Command lines: flags, help, and what imports may print or interrupt."""
