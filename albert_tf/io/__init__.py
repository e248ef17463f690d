"""Files on disks and in buckets: read, written atomically, checked, found by names."""
