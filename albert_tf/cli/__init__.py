"""Command lines: flags, recipes, help, and what imports may print or interrupt."""
