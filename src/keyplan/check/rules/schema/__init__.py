"""Schema and limits (1xx)."""
