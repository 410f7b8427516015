"""Indexes (4xx)."""
