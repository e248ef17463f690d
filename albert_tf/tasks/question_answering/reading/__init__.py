"""Files in the layout of SQuAD: their questions, and the faults in them."""
