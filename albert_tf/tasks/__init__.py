"""Fine-tuning: the interface of a task, and the parts that all tasks share."""
