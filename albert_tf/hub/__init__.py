"""Remote models: Hugging Face repositories, and archives by URL or path."""
