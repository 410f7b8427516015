"""Cost and operations (8xx)."""
