"""Files in the layout of SQuAD: their questions, and what does not fit in them."""
