"""Scripts that other libraries' environments run; they import nothing of ours."""
