"""Measurements, which scripts take and print, of the machine at hand."""
