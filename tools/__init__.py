"""Tools for work on the project itself; no part of the installed package."""
