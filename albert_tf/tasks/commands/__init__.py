"""The command of a task: the parts that all tasks share."""
