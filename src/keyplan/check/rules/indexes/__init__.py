"""Indexes (rules KP4xx)."""
