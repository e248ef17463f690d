"""Parts of Hugging Face's tokenizers that the official ones do not have."""
