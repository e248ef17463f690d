"""Files of tagged words: CoNLL's columns, JSONL of tokens or of texts with spans."""
