"""What a family of models is to others: its config, and the names of its variables."""
