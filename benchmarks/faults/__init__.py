"""Attacks on every command: kills, full and vanished disks, damaged files, rivals."""
