"""Displays for people: progress bars, pictures, pages."""
