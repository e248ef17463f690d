"""Models that lie elsewhere: Hugging Face repositories, and archives by URL or file."""
