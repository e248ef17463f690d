"""The code that the commands of all tasks share."""
