"""The command of a task, which all families share."""
