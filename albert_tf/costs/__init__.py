"""What a configuration costs: parameters, FLOPs, memory."""
