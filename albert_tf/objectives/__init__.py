"""What training minimises: loss terms, and the objectives of pretraining."""
