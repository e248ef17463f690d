"""What Hugging Face's tokenizers have and the official ones have not."""
