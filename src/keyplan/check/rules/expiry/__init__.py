"""Expiry and streams (7xx)."""
