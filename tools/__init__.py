"""Tools for work on the project itself; no part of what is installed."""
