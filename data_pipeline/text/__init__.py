"""From text files to documents."""
