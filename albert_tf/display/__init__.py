"""Displays for people: progress bars, plots and HTML pages."""
