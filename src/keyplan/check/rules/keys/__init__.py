"""Keys and templates (2xx)."""
