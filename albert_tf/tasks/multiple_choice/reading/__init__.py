"""Files of questions with options: RACE, C3 and JSONL of your own."""
