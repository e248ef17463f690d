"""Wrong inputs of every command, and their errors."""
