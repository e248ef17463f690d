"""Reading comprehension: the answer to a question is a span of a paragraph."""
