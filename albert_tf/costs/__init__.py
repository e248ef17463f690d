"""Costs of a configuration: parameters, FLOPs, memory."""
