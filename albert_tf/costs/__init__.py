"""Costs of a configuration: parameters, FLOPs and memory."""
