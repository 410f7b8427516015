"""Cost and operations (rules KP8xx)."""
