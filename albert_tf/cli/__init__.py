"""Command lines: flags, help, and shell completion."""
