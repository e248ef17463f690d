"""Students: models that learn from the outputs of a fine-tuned one, their teacher."""
