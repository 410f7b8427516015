"""Keys and templates (rules KP2xx)."""
