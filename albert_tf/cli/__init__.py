"""Command lines: flags, help, and the output and interrupts of imports."""
