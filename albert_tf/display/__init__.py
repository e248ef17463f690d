"""What people look at: progress bars, pictures, pages."""
