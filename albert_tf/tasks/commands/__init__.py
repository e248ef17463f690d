"""Shared parts of the commands of all families."""
