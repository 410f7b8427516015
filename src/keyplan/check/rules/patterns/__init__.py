"""Access patterns (rules KP3xx)."""
