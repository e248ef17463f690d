"""The training engine: one loop for every device, resumable at every step."""
