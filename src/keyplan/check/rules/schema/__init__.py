"""Schema and limits (rules KP1xx)."""
