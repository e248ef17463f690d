"""Fine-tuning: the interface of a task, and the code that all tasks share."""
