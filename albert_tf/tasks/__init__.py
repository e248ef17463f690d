"""Fine-tuning: what a task is, and what all tasks share."""
