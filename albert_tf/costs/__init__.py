"""What a configuration costs: parameters, operations, memory."""
