"""Texts that are longer than a row, read through windows that overlap."""
