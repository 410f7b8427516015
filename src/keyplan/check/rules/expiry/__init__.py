"""Expiry and streams (rules KP7xx)."""
