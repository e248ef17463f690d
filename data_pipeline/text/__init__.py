"""The path from text files to documents."""
