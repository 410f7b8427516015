"""Changes between two designs (rules KP9xx)."""
