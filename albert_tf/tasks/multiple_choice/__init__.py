"""Multiple choice: chooses the option that answers a question on a text."""
