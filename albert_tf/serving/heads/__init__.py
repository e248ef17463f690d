"""What served models answer, by the kind of task."""
