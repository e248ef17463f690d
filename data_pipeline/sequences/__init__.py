"""From documents to masked sequences: pure functions of text and seed."""
