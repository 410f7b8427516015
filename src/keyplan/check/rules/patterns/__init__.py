"""Access patterns (3xx)."""
