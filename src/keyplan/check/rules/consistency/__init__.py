"""Consistency (6xx)."""
