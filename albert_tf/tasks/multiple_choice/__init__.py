"""Multiple choice: which of several options answers a question on a text."""
