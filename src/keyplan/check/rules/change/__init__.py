"""Changes between two designs (9xx)."""
