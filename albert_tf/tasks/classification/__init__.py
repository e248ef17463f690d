"""Classification and regression of texts or pairs of texts."""
